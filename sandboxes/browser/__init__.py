"""A headless Chromium for GUI environments: pages without network access and with a controlled clock."""
