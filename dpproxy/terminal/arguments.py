"""Commands as values, and the parser that is built from them."""

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from msgspec import Struct

Arguments = argparse.Namespace
Option = tuple[str, dict[str, object]]
"""Arguments of ``add_argument``."""


def option(name: str, told: str, **rest: object) -> Option:
    """An option, or an argument, by its name and what is told of it."""
    return name, {"help": told, **rest}


CONFIG: Option = option(
    "--config", "the configuration, a TOML file", metavar="FILE", type=Path, required=True
)
DATABASE: Option = option(
    "--database", "the data source, where the configuration has several", metavar="NAME"
)
JSON: Option = option("--json", "print one JSON document", action="store_true")
PASSWORD: Option = option(
    "--password-stdin", "read the password from the first line of stdin", action="store_true"
)

_PACKAGE = Path(__file__).parents[1]
DOCUMENTATION = _PACKAGE if (_PACKAGE / "docs").is_dir() else _PACKAGE.parent
"""The folder of README.md and docs/: the package itself where it was installed from a wheel."""
EPILOG = f"""\
`dpproxy COMMAND --help` shows an example of it. `dpproxy demo` is a tour that needs nothing else.

documentation:
  {DOCUMENTATION / "README.md"}"""


class Command(Struct, frozen=True):
    """One subcommand: name, summary, example, options and function."""

    name: str
    summary: str
    example: str
    options: tuple[Option, ...]
    run: str
    """``module:function``, which is imported only when the command runs."""


def handler(run: str) -> Callable[[Arguments], int]:
    """The function of a command, which returns the exit status."""
    module, _, function = run.partition(":")
    found: Callable[[Arguments], int] = getattr(import_module(f"dpproxy.{module}"), function)
    return found


class _Version(argparse.Action):
    """Prints the version and exits."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        from importlib.metadata import version  # noqa: PLC0415 - slow to import

        sys.stdout.write(f"dpproxy {version('dpproxy')}\n")
        parser.exit()


def build_parser(commands: Sequence[Command]) -> argparse.ArgumentParser:
    """A parser of all commands; a name of two words is a command of a group."""
    parser = argparse.ArgumentParser(
        prog="dpproxy",
        description="Differential privacy for plain SQL.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    top = parser.add_subparsers(metavar="COMMAND", required=True)
    groups: dict[str, argparse._SubParsersAction[argparse.ArgumentParser]] = {}
    for command in commands:
        group, _, name = command.name.rpartition(" ")
        if group and group not in groups:
            outer = top.add_parser(group, help=_names_in(group, commands))
            groups[group] = outer.add_subparsers(metavar="COMMAND", required=True)
        inner = groups.get(group, top).add_parser(
            name,
            help=command.summary,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.",
            epilog=f"example:\n  {command.example}\n\ndocumentation:\n  {DOCUMENTATION / 'docs' / 'commands.md'}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        for name, keywords in command.options:
            inner.add_argument(name, **keywords)  # type: ignore[arg-type]
        inner.set_defaults(run=command.run)
    return parser


def _names_in(group: str, commands: Sequence[Command]) -> str:
    found = [command for command in commands if command.name.startswith(f"{group} ")]
    names = ", ".join(command.name.removeprefix(f"{group} ") for command in found)
    return f"{names}: {found[0].summary}" if len(found) == 1 else names
