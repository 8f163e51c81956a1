"""The command line.

Exit status: 0 done; 1 answered with a refusal or a failed check; 2 could not start, one line on stderr says why; 130
interrupted.
"""

import logging
import os
import sys
from collections.abc import Sequence

from dpproxy.cli.commands import COMMANDS
from dpproxy.system.process import terminable
from dpproxy.terminal.arguments import build_parser, handler
from dpproxy.terminal.console import tell
from dpproxy.values.errors import Refusal, StartupError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; the exit status."""
    logging.basicConfig(level=logging.INFO, format="dpproxy: %(message)s", stream=sys.stderr)
    try:
        with terminable():
            arguments = build_parser(COMMANDS).parse_args(argv)
            return handler(arguments.run)(arguments)
    except StartupError as error:
        tell(str(error), is_error=True)
        return 2
    except Refusal as refusal:
        tell(
            f"{refusal.sqlstate}: {refusal.message}" + (f" ({refusal.hint})" if refusal.hint else ""),
            is_error=True,
        )
        return 1
    except BrokenPipeError:  # whoever read stdout has gone; the flush at exit shall not meet that again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.filename is None:
            raise
        tell(f"{error.filename}: {error.strerror}")
        return 2
    except KeyboardInterrupt:
        tell("interrupted")
        return 130
