"""Output of commands: results on stdout, everything else on stderr, each flushed at once."""

import shutil
import sys


def width() -> int | None:
    """The width of the terminal in characters; None if stdout is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_result(text: str) -> None:
    """Print a result on stdout as it is."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def say(line: str) -> None:
    """Print a sentence about the result on stdout."""
    print_result(f"dpproxy: {line}")


def tell(line: str) -> None:
    """Print progress, a warning or an error on stderr."""
    sys.stderr.write(f"dpproxy: {line}\n")
    sys.stderr.flush()
