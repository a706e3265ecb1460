"""What several commands use: output, progress, tables and completion."""
