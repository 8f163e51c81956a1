"""``python -m dpproxy``."""

import sys

from dpproxy.cli import main

if __name__ == "__main__":
    sys.exit(main())
