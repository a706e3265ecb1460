"""A headless Chromium for GUI environments: no network access, and a controlled clock."""
