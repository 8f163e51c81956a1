"""Where the exact stage runs."""
