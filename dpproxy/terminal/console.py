"""What a command says: results on stdout, all else on stderr, each as soon as it is there."""

import shutil
import sys


def width() -> int | None:
    """The width of the terminal in characters; None if stdout is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_result(text: str) -> None:
    """A result as it is, for people or for programs."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def say(line: str) -> None:
    """A result in words."""
    print_result(f"dpproxy: {line}")


def tell(line: str) -> None:
    """Progress, warnings and errors, for the operator."""
    sys.stderr.write(f"dpproxy: {line}\n")
    sys.stderr.flush()
