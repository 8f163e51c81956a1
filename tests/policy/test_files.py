"""Policy files: one change, or the place of the mistake."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dpproxy.policy.apply import apply
from dpproxy.policy.difference import Effect, differences
from dpproxy.policy.files import (
    PolicyFileError,
    apply_file,
    apply_files,
    locate,
    read_file,
    without_weakening,
)
from dpproxy.policy.model import Policy
from dpproxy.policy.store import PolicyStore, change_of
from dpproxy.values.errors import StartupError
from dpproxy.values.pgtypes import Schema
from tests.policy.test_store import history
from tests.stores import change_all

TABLES = """-- what is protected
ALTER TABLE patients SET PRIVACY KEY (patient_id);
ALTER TABLE patients
\tALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110;
"""
BUDGETS = """CREATE PRIVACY BUDGET research LIMIT EPSILON 8;
GRANT SELECT ON patients TO analysts WITH PRIVACY BUDGET research"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PolicyStore]:
    with closing(PolicyStore.open(tmp_path / "state")) as opened:
        yield opened


def write(tmp_path: Path, **texts: str) -> list[Path]:
    paths = []
    for name, text in texts.items():
        path = tmp_path / f"{name}.sql"
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def test_files_are_one_change_and_apply_again(tmp_path: Path, store: PolicyStore, schema: Schema):
    paths = write(tmp_path, a=TABLES, b=BUDGETS)
    policy = apply_files(store, paths, schema)
    assert (policy.version, set(policy.tables), set(policy.budgets), len(policy.grants)) == (
        1, {"patients"}, {"research"}, 1,
    )  # fmt: skip
    assert apply_files(store, paths, schema) == policy
    assert [by for _, _, by, _ in history(store)] == ["policy files"]


def test_what_the_files_undo_is_told(tmp_path: Path, store: PolicyStore, schema: Schema):
    paths, told = write(tmp_path, a=TABLES, b=BUDGETS), list[str]()
    apply_files(store, paths, schema, tell=told.append)
    apply_files(store, paths, schema, tell=told.append)
    assert told == []
    change_all(
        store,
        ["ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 20 AND 60"],
        schema,
        by="root",
    )
    apply_files(store, paths, schema, tell=told.append)
    assert told == [
        "the policy files change the policy in force:",
        "table patients, column age: wider bounds: more noise",
        "  was: ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 20 AND 60 OUTSIDE CLAMP",
        "  now: ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110 OUTSIDE CLAMP",
    ]


def test_what_would_weaken_the_policy_in_force_is_told_and_left_out(
    tmp_path: Path, store: PolicyStore, schema: Schema
):
    paths, told = write(tmp_path, a=TABLES, b=BUDGETS), list[str]()
    apply_files(
        store, paths, schema, tell=told.append, weakened="the command"
    )  # at the first start nothing is in force
    assert (told, store.files) == ([], tuple(paths))
    change_all(store, ["REVOKE SELECT ON patients FROM analysts"], schema, by="root")
    before = store.current
    assert apply_files(store, paths, schema, tell=told.append, weakened="the command") == before
    assert told == [
        "the policy files would weaken the policy in force, which stays as it is in this:",
        "SELECT on patients to analysts [weaker]: analysts may ask about patients, paid from research",
        "  now: GRANT SELECT ON patients TO analysts WITH PRIVACY BUDGET research",
        "to have it as the files say: the command",
    ]
    assert apply_files(store, paths, schema, tell=told.append).grants


def test_a_typo_is_shown_with_its_line_and_a_caret(tmp_path: Path, store: PolicyStore, schema: Schema):
    paths = write(tmp_path, a=BUDGETS.partition(";")[0], b=TABLES.replace("DOMAIN", "DOMIAN"))
    with pytest.raises(PolicyFileError) as caught:
        apply_files(store, paths, schema)
    error = caught.value
    assert str(error) == (
        f"{paths[1]}:4:31: expected DOMAIN, HIDDEN, CLASS or QUANTILES after SET PRIVACY, "
        'found "domian" (Did you mean DOMAIN?)'
    )
    assert error.excerpt == "\tALTER COLUMN age SET PRIVACY DOMIAN BETWEEN 0 AND 110;\n\t" + " " * 29 + "^"
    assert (error.path, error.sqlstate, error.hint) == (paths[1], "42601", "Did you mean DOMAIN?")
    assert store.current == Policy()


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("ALTER TABLE patients SET PRIVACY HIDDEN;\n  ALTER TABLE gone SET PRIVACY HIDDEN", 2, 15),
        ("ALTER TABLE patients SET PRIVACY HIDDEN;\nALTER TABLE patients SET 'x", 2, 26),
        ("ADVANCE PRIVACY DATA VERSION", 1, 1),
        ("\n SHOW PRIVACY BUDGETS", 2, 2),
        ("ALTER TABLE patients\r\nSET PRIVACY", 2, 12),
    ],
)
def test_every_mistake_has_a_place(tmp_path: Path, schema: Schema, text: str, line: int, column: int):
    path = tmp_path / "a.sql"
    path.write_bytes(text.encode())
    with pytest.raises(PolicyFileError) as caught:
        apply_file(Policy(), read_file(path), schema)
    assert caught.value.place[:2] == (line, column)
    assert isinstance(caught.value, StartupError)


def test_files_that_cannot_be_read(tmp_path: Path, store: PolicyStore, schema: Schema):
    with pytest.raises(StartupError, match="No such file"):
        apply_files(store, [tmp_path / "none.sql"], schema)
    (tmp_path / "latin.sql").write_bytes(b"-- caf\xe9")
    with pytest.raises(StartupError, match="not UTF-8 at byte 6"):
        apply_files(store, [tmp_path / "latin.sql"], schema)


def test_a_byte_order_mark_is_no_character(tmp_path: Path, schema: Schema):
    path = tmp_path / "a.sql"
    path.write_text(TABLES, encoding="utf-8-sig")
    assert set(apply_file(Policy(), read_file(path), schema).tables) == {"patients"}


@pytest.mark.parametrize(
    ("offset", "place"),
    [(0, (1, 1, "ab")), (2, (1, 3, "ab")), (3, (2, 1, "")), (4, (3, 1, "cd")), (99, (3, 3, "cd"))],
)
def test_places(offset: int, place: tuple[int, int, str]):
    assert locate("ab\n\ncd", offset) == place


FILE = (
    "CREATE PRIVACY BUDGET b LIMIT EPSILON 5 DELTA 0.001 USER LIMIT EPSILON 2",
    "ALTER TABLE p SET PRIVACY KEY (id) MAX ROWS 10",
    "ALTER TABLE p SET PRIVACY CEILING EPSILON 10",
    "ALTER TABLE p ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "GRANT SELECT ON p TO analyst WITH PRIVACY BUDGET b",
    "GRANT EXACT SELECT ON p TO dpo",
    "ALTER TABLE zips SET PRIVACY PUBLIC",
)


def made(*statements: str, of: Policy | None = None) -> Policy:
    policy = Policy() if of is None else of
    for sql in statements:
        policy = apply(policy, change_of(sql), None)
    return policy


@pytest.mark.parametrize(
    "tightened",
    [
        ("REVOKE SELECT ON p FROM analyst",),
        ("REVOKE EXACT SELECT ON p FROM dpo",),
        ("ALTER TABLE p SET PRIVACY KEY (id) MAX ROWS 3",),
        ("ALTER TABLE p SET PRIVACY KEY (id) MAX ROWS 10 MAX GROUPS 1",),
        ("ALTER TABLE p SET PRIVACY CEILING EPSILON 1",),
        ("CREATE PRIVACY BUDGET b LIMIT EPSILON 1",),
        ("CREATE PRIVACY BUDGET b LIMIT EPSILON 5 DELTA 0.001 USER LIMIT EPSILON 1",),
        ("CREATE PRIVACY BUDGET b LIMIT EPSILON 5 DELTA 0.001 USER LIMIT EPSILON 2 MAX EPSILON 0.1",),
        ("ALTER TABLE p ALTER COLUMN age SET PRIVACY HIDDEN",),
        ("ALTER TABLE p SET PRIVACY HIDDEN",),
        ("ALTER TABLE zips SET PRIVACY HIDDEN",),
        ("REVOKE SELECT ON p FROM analyst", "DROP PRIVACY BUDGET b"),
        ("ALTER TABLE p SET PRIVACY CEILING EPSILON 1", "REVOKE SELECT ON p FROM analyst"),
    ],
)
def test_what_was_tightened_stays_when_the_file_is_applied_again(tightened: tuple[str, ...]):
    in_force = made(*tightened, of=made(*FILE))
    after, left = without_weakening(in_force, made(*FILE, of=in_force))
    assert left
    weaker = [d for d in differences(in_force, after) if d.effect is Effect.WEAKER]
    assert weaker == []


def test_what_tightens_and_what_is_neutral_is_taken_beside_it():
    in_force = made("REVOKE SELECT ON p FROM analyst", of=made(*FILE))
    new = (
        "ALTER TABLE p SET PRIVACY CEILING EPSILON 4",
        "ALTER TABLE p ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 120",
        "CREATE PRIVACY BUDGET c LIMIT EPSILON 1",
    )
    after, left = without_weakening(in_force, made(*FILE, *new, of=in_force))
    assert [d.subject for d in left] == ["SELECT on p to analyst"]
    assert after == made(*new, of=in_force)


def test_a_table_that_the_file_makes_public_stays_as_it_is_with_its_ceiling():
    in_force = made(*FILE)
    after, left = without_weakening(in_force, made("ALTER TABLE p SET PRIVACY PUBLIC", of=in_force))
    assert after.tables == in_force.tables
    assert {d.subject for d in left} == {"table p"}


def test_what_does_not_stand_without_the_rest_is_not_taken_at_all():
    """Of a table that is hidden, a grant without a budget is taken back where it is protected."""
    in_force = made(*FILE)
    public = made(
        "REVOKE SELECT ON p FROM analyst",
        "ALTER TABLE p SET PRIVACY PUBLIC",
        "REVOKE EXACT SELECT ON p FROM dpo",
        "ALTER TABLE zips SET PRIVACY HIDDEN",
        "ALTER TABLE p ALTER COLUMN zip SET PRIVACY DOMAIN REFERENCES p (id)",
        of=in_force,
    )
    after, _ = without_weakening(in_force, public)
    assert all(d.effect is not Effect.WEAKER for d in differences(in_force, after))


def test_where_nothing_is_weaker_all_of_it_is_taken():
    in_force = made(*FILE)
    after = made("REVOKE SELECT ON p FROM analyst", of=in_force)
    assert without_weakening(in_force, after) == (after, [])
