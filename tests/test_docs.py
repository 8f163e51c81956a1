"""What users can type stands in the documentation, and what stands there can be typed."""

import inspect
import re
import shlex
from pathlib import Path

import pytest
from sqlglot import exp

from dpproxy.aggregates.table import AGGREGATES
from dpproxy.analysis.functions import FUNCTIONS
from dpproxy.analysis.titles import function_name
from dpproxy.cli.commands import COMMANDS
from dpproxy.config.configuration import KEYS, REQUIRED, ConfigKey
from dpproxy.config.settings import SETTINGS
from dpproxy.planner.release.scope import DP_FUNCTIONS
from dpproxy.terminal.arguments import Command, build_parser
from dpproxy.values import errors
from dpproxy.values.errors import Refusal
from tests.bench import results

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")])


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def table_keys(text: str) -> list[str]:
    """What stands in code in the first column of tables."""
    return re.findall(r"^\| `([^`]+)`", text, re.MULTILINE)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.dotted)
def test_every_configuration_key_is_documented(key: ConfigKey):
    rows = [
        line for line in page("docs/configuration.md").splitlines() if line.startswith(f"| `{key.dotted}`")
    ]
    assert len(rows) == 1
    _, _, default, variable, meaning, _ = (cell.strip() for cell in rows[0].split("|"))
    assert variable == f"`{key.variable}`"
    assert (default == "required") == (key.default is REQUIRED)
    assert meaning


def test_no_configuration_key_is_documented_that_is_none():
    assert table_keys(page("docs/configuration.md")) == [key.dotted for key in KEYS]


EVERYWHERE = {"--config", "--database"}
"""Options that the page tells once for all commands."""


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_and_option_is_documented_in_its_row(command: Command):
    rows = [
        row for row in page("docs/commands.md").splitlines() if row.startswith(f"| `dpproxy {command.name}")
    ]
    assert rows
    for names, keywords in command.options:
        known = {names[0], names[0].upper(), str(keywords.get("metavar"))}
        assert names[0] in EVERYWHERE or any(word in "".join(rows) for word in known), names[0]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_example_of_a_command_is_one_of_it(command: Command):
    program, *words = shlex.split(command.example.partition(" >")[0])
    assert program == "dpproxy"
    assert " ".join(words).startswith(command.name)
    assert build_parser(COMMANDS).parse_args(words).run == command.run


def test_every_documented_command_parses():
    for written in table_keys(page("docs/commands.md")):
        words = [{"N": "5432"}.get(word, word) for word in written.split()[1:]]
        assert build_parser(COMMANDS).parse_args(words).run


SQLSTATES = sorted(
    {found.sqlstate for _, found in inspect.getmembers(errors, inspect.isclass) if issubclass(found, Refusal)}
)


def test_every_sqlstate_is_documented_and_no_other():
    assert table_keys(page("docs/errors.md")) == SQLSTATES


def test_every_privacy_setting_is_documented_and_no_other():
    documented = [key for key in table_keys(page("docs/sql.md")) if key.startswith("dp.")]
    assert sorted(documented) == sorted(name for name in SETTINGS if name.startswith("dp."))


def test_every_aggregate_and_function_over_one_is_documented():
    text = page("docs/sql.md")
    for node in AGGREGATES:
        names = [node] if isinstance(node, str) else [function_name(node()), *node.sql_names()]
        assert any(f"`{name.lower()}{end}" in text.lower() for name in names for end in "(`"), node
    for name in DP_FUNCTIONS:
        assert f"`dp.{name}(x)`" in text


CALLED = {
    exp.StrPosition: "strpos",
    exp.TimeToStr: "to_char",
    exp.TimestampTrunc: "date_trunc",
    exp.RegexpLike: "x ~",
    exp.RegexpILike: "~*",
    exp.BitwiseAnd: "x &",
    exp.BitwiseOr: "x |",
    exp.BitwiseXor: "x #",
    exp.BitwiseNot: "~x",
    exp.Pad: "lpad",
    exp.RegexpExtract: "(regexp_match",
}
"""Functions that the parser has under other names."""


def test_every_function_is_documented():
    text = page("docs/sql.md")
    for node in FUNCTIONS:
        names = [CALLED[node]] if node in CALLED else [name.lower() for name in node.sql_names()]
        assert any(f"`{name}" in text for name in names), node.__name__


def test_functions_of_what_is_public_are_listed_as_such():
    text = page("docs/sql.md").partition("**Functions that only stand here**")[2].partition("\n* ")[0]
    for node, function in FUNCTIONS.items():
        names = [CALLED[node]] if node in CALLED else [name.lower() for name in node.sql_names()]
        is_listed = any(re.search(rf"`{re.escape(name)}(?!\w)", text) for name in names)
        assert is_listed is bool(function.only_open), node.__name__


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if not target.startswith(("http://", "https://")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_in_shell_blocks_exist(path: Path):
    for block in blocks(path.read_text(encoding="utf-8"), "sh"):
        for line in block.splitlines():
            if line.startswith("dpproxy "):
                words = line.partition(" #")[0].replace("'", "").split()[1:]
                name = " ".join(words[:2])
                known = {command.name for command in COMMANDS}
                assert name in known or words[0] in known, line


def test_every_make_target_that_is_documented_exists():
    targets = set(re.findall(r"^(\w+):", page("Makefile"), re.MULTILINE))
    for path in PAGES:
        for target in re.findall(r"`make (\w+)`", path.read_text(encoding="utf-8")):
            assert target in targets, f"{path.name}: make {target}"


def test_every_decision_has_a_number_of_its_own_and_three_parts():
    decisions = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [int(path.name[:4]) for path in decisions]
    assert len(set(numbers)) == len(numbers)
    for path in decisions:
        text = path.read_text(encoding="utf-8")
        assert text.startswith(f"# {int(path.name[:4])}. ")
        assert all(word in text for word in ("Context", "Decision", "Consequences")), path.name


def test_the_files_that_the_architecture_names_are_there():
    """With their folder, or in the folder that the row of a table is about."""
    for line in page("docs/architecture.md").splitlines():
        folders = re.findall(r"`(\w+)/`", line) if line.startswith("| `") else []
        for name in re.findall(r"`([\w/]+\.py)`", line):
            places = [name, *(f"{folder}/{name}" for folder in folders)]
            found = [p for p in places if "/" in p and (ROOT / "dpproxy" / p).exists()]
            assert found or list((ROOT / "dpproxy").glob(f"*/{name}")), f"{name}: {line}"


def test_the_first_screen_of_the_start_page_has_an_answer_with_its_error():
    screen = "".join(page("README.md").splitlines(keepends=True)[:32])
    for wanted in (
        "differential privacy",
        "protects **the people",
        "`make demo`",
        "`make serve`",
        "% half-width: count ±",
    ):
        assert wanted in screen, wanted
    [picture] = re.findall(r"!\[[^\]]{20,}\]\((.+?)\)", screen)
    assert (ROOT / picture).is_file()


def test_the_start_page_says_for_whom_it_is_how_it_differs_and_under_which_licence():
    text = page("README.md")
    for wanted in ("## Who it is for", "It is not for those", "## Licence", "Apache 2.0"):
        assert wanted in text
    [heads] = re.findall(r"^\| \| dpproxy \|(.*)\|$", text, re.MULTILINE)
    assert len(heads.split(" | ")) == 3
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").lstrip().startswith("Apache License")


def test_the_start_page_says_how_many_queries_of_tpch_are_answered_as_their_table_does():
    listed = re.findall(r"^\| Q\d+ .*?\| (answered|refused)", page("docs/measured.md"), re.MULTILINE)
    found = re.search(r"answers\s+(\d+) of the \[(\d+) queries of TPC-H\]", page("README.md"))
    assert found is not None
    assert [int(number) for number in found.groups()] == [listed.count("answered"), len(listed)]


def test_the_tables_of_measurements_are_the_stored_ones():
    """Otherwise: python -m tests.bench.results."""
    text = results.PAGE.read_text(encoding="utf-8")
    assert text == results.filled(text)
    stored = {path.stem for path in results.FOLDER.glob("*.tsv")}
    assert sorted(name for _, name, _ in results.PLACE.findall(text)) == sorted({*stored, results.SUMMARY})


def test_the_contents_of_the_page_on_sql_name_every_section_once_and_in_order():
    text = page("docs/sql.md")
    contents = re.findall(r"\[[^]]+\]\(#([^)]+)\)", text.partition("## Contents")[2].partition("\n## ")[0])
    headings = re.findall(r"^###? (.+)$", text.partition("## Contents")[2], re.MULTILINE)
    assert contents == [re.sub(r"[^a-z0-9 ]", "", heading.lower()).replace(" ", "-") for heading in headings]
