"""What runs in another environment is not looked at."""

collect_ignore_glob = ["peers.py", "rivals/serve.py", "rivals/with_*.py"]
