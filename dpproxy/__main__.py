"""``python -m dpproxy``."""

import sys

from dpproxy.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
