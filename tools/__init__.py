"""Scripts for whoever works on dpproxy."""
