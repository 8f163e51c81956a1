"""The reference is whole: every name in the tables of the code has its place in it, and nothing else has one."""

import re
from enum import Enum
from typing import get_args

import duckdb
import pytest
from msgspec import Struct
from msgspec.structs import fields

import udfs
from dpproxy.algebra.plan import Caller
from dpproxy.analysis.dates import FIELDS, UNITS
from dpproxy.analysis.windows import WINDOWS
from dpproxy.anonymize.methods import METHODS
from dpproxy.config.settings import SETTINGS
from dpproxy.engine import administration, relations
from dpproxy.observe import records
from dpproxy.observe.audit_entry import AuditOutcome
from dpproxy.planner.refusals import FUNCTIONS
from dpproxy.policy import model, statements
from dpproxy.policy.model import Policy
from dpproxy.policy.parser import parse
from dpproxy.policy.role_statements import RoleChange, is_role_statement, read_role_statement
from dpproxy.policy.user_statements import UserStatement, is_user_statement, read_user_statement
from dpproxy.sql.lexer import pieces
from dpproxy.views import listing, make, verify
from tests.docs import catalogue
from tests.docs.blocks import ROOT, blocks
from udfs.prior_notation import FAMILIES

STATEMENTS = ROOT / "docs" / "statements.md"


def read(sql: str) -> object:
    if is_user_statement(sql):
        return read_user_statement(sql)
    return read_role_statement(sql) if is_role_statement(sql) else parse(sql)


EXAMPLES = [
    read(piece.text)
    for block in blocks(STATEMENTS)
    if block.language == "sql"
    for piece in pieces(block.text)
]
ENUMS = (model.Composition, model.ColumnClass, model.Exposure, model.Outside, statements.Listing)
ADMIN = Caller("root", frozenset({"admin"}), "session of root")


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def inside(value: object) -> list[object]:
    """A value and all that it holds."""
    held = [getattr(value, name) for name in value.__struct_fields__] if isinstance(value, Struct) else []
    held = list(value) if isinstance(value, tuple) else held
    return [value, *(found for one in held for found in inside(one))]


HELD = [found for example in EXAMPLES for found in inside(example)]


@pytest.mark.parametrize(
    "kind",
    [*get_args(statements.Statement), RoleChange, *get_args(UserStatement)],
    ids=lambda kind: kind.__name__,
)
def test_every_privacy_statement_has_an_example_with_each_of_its_clauses(kind: type):
    examples = [example for example in EXAMPLES if type(example) is kind]
    assert examples
    for one in fields(kind):
        if one.default is None and one.name != "position":
            assert any(getattr(example, one.name) is not None for example in examples), one.name


@pytest.mark.parametrize("value", [value for enum in ENUMS for value in enum], ids=str)
def test_every_word_of_a_choice_has_an_example(value: Enum):
    if value not in (model.Exposure.PROTECTED, model.Composition.BASIC):
        assert value in HELD
    for word in str(value.value).upper().split("_"):
        assert word in STATEMENTS.read_text(encoding="utf-8").upper()


def test_the_grammar_has_no_word_that_the_parser_does_not_know():
    source = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "dpproxy" / "policy").glob("*.py")
    ).lower()
    words = {
        word
        for block in blocks(STATEMENTS)
        if block.mark == "grammar" and "EXPLAIN" not in block.text
        for word in re.findall(r"\b[A-Z]{2,}\b", block.text)
    }
    assert len(words) > 40
    for word in words:
        assert re.search(rf'"[a-z ]*\b{word.lower()}\b[a-z ]*"', source), word


def test_the_columns_of_what_can_be_looked_at_are_listed():
    listed = dict(
        re.findall(
            r"^\| `((?:SHOW|SUGGEST|VERIFY|dp\.)[^`]*)` \| (.*) \|$", page("statements.md"), re.MULTILINE
        )
    )
    found = {f"dp.{name}": columns for name, columns in relations.OWN.items()}
    found |= {"VERIFY PROTECTED VIEW": verify.COLUMNS, "SHOW PRIVACY VIEWS": listing.COLUMNS}
    found |= {"SHOW PRIVACY AUDIT": records.COLUMNS}
    for kind in ("BUDGETS", "POLICY", "GRANTS", "USERS", "TABLES", "STATUS", "HISTORY"):
        text = f"SHOW PRIVACY {kind}"
        found[text] = administration.prepare(text, ADMIN, Policy()).columns or ()
    found["SUGGEST PRIVACY FOR"] = (
        administration.prepare("SUGGEST PRIVACY FOR t", ADMIN, Policy()).columns or ()
    )
    assert {
        name: ", ".join(f"`{column.name}`" for column in columns) for name, columns in found.items()
    } == listed


def test_every_outcome_in_the_audit_log_is_told():
    told = re.findall(
        r"^\| ([a-z ]+) \|", page("statements.md").partition("**SHOW PRIVACY AUDIT**")[2], re.MULTILINE
    )
    assert sorted(set(told) - {"outcome"}) == sorted(outcome.value for outcome in AuditOutcome)


def test_every_function_of_values_is_documented():
    text = page("sql.md")
    for name in (*FUNCTIONS, *(sql.lower() for node in WINDOWS for sql in node.sql_names()[:1])):
        assert re.search(rf"`[^`]*\b{name}\b", text, re.IGNORECASE), name
    for unit in UNITS:
        assert unit.lower() in text
    for field in FIELDS:
        assert field.lower() in text, field


def test_every_setting_is_documented_and_what_it_can():
    settings = page("sql.md").partition("### Settings")[2].partition("\n## ")[0]
    for setting in SETTINGS.values():
        assert f"`{setting.name}`" in settings, setting.name
    fixed = settings.partition("can only be read:")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"`([^`]+)`", fixed)) == sorted(
        s.name for s in SETTINGS.values() if s.check is None and not s.name.startswith("dp.")
    )


def test_the_functions_of_the_extension_are_listed_with_their_arguments():
    listed = dict(re.findall(r"^\| `(dp_\w+)\(([^)]*)\)`", page("functions.md"), re.MULTILINE))
    with duckdb.connect() as connection:
        udfs.register(connection)
        rows = connection.execute('SELECT "function", arguments FROM dp_functions()').fetchall()
    found: dict[str, set[str]] = {"dp_functions": {""}}
    for name, arguments in rows:
        words = [argument.replace('"', "").split()[0] for argument in arguments.split(", ")]
        found.setdefault(name, set()).add(", ".join(words).replace(":=", ""))
    assert set(listed) == set(found)
    for name, arguments in listed.items():
        assert arguments in found[name], f"{name}: {found[name]}"


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_the_options_of_a_method_are_listed(method: object):
    section = page("views-methods.md").partition(f"### `{method.name}`")[2].partition("\n### ")[0]
    for option in method.options:
        assert f"`{option}`" in section, option
    assert f"`{method.name}`" in page("views.md")


def test_the_options_of_all_views_are_listed():
    text = page("views.md").partition("## Options")[2].partition("\n## ")[0]
    for option in make.OWN:
        assert f"`{option}`" in text


def test_every_family_of_priors_is_listed():
    listed = re.findall(r"^\| `(\w+)\(", page("refinement.md"), re.MULTILINE)
    assert sorted(listed) == sorted(FAMILIES)


def test_every_file_of_the_documentation_is_reached_from_the_start_page():
    found, todo = set(), [ROOT / "README.md"]
    while todo:
        path = todo.pop()
        if path in found or not path.exists() or path.suffix != ".md":
            continue
        found.add(path)
        targets = re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8"))
        todo += [(path.parent / target).resolve() for target in targets if "://" not in target]
    missing = {path for path in (ROOT / "docs").glob("**/*.md") if "decisions" not in path.parts} - found
    assert not missing, sorted(map(str, missing))


def test_the_catalogue_is_listed_as_it_is():
    assert catalogue.PAGE.read_text(encoding="utf-8") == catalogue.page(), "python -m tests.docs.catalogue"
