"""What runs in another environment is not looked at."""

collect_ignore = ["peers.py"]
