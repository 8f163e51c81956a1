"""Each form of each statement that changes the policy: its notices, and what the next start makes of it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpproxy.algebra.plan import Caller
from dpproxy.engine.engine import Engine
from dpproxy.policy.difference import Effect, differences
from dpproxy.policy.files import apply_files
from dpproxy.policy.model import Policy
from dpproxy.values.errors import Refusal
from tests.engine.test_engine import ROOT, ask
from tests.proxies import ROOT as ROOT_FOLDER
from tests.proxies import started, write_home

pytestmark = pytest.mark.usefixtures("in_process")

DDL = (
    """CREATE TABLE people AS SELECT i AS id, ['f', 'm'][1 + i % 2] AS sex, i % 100 AS age, i % 7 AS cost,
       i % 2 AS kind, ['n', 's'][1 + i % 2] AS region, ['1', '2'][1 + i % 2] AS ward, 'x' AS name, 'A1' AS diagnosis
       FROM range(200) AS r (i)""",
    "CREATE TABLE visits AS SELECT i % 200 AS person, i % 3 AS kind FROM range(900) AS r (i)",
    "CREATE TABLE wards AS SELECT * FROM (VALUES ('n', '1'), ('s', '2')) AS v (region, ward)",
    "CREATE TABLE codes AS SELECT * FROM (VALUES ('A', NULL), ('A1', 'A')) AS v (code, parent)",
    "CREATE TABLE old AS SELECT 1 AS x",
)
POLICY = """
ALTER TABLE people SET PRIVACY KEY (id);
ALTER TABLE people SET PRIVACY CEILING EPSILON 20 DELTA 1e-5;
ALTER TABLE people SET PRIVACY EXPECTED ROWS 200;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm');
ALTER TABLE people SET PRIVACY BLOCKS BY (sex);
ALTER TABLE people ALTER COLUMN kind SET PRIVACY DOMAIN IN (0, 1);
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110;
ALTER TABLE people ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 10;
ALTER TABLE wards SET PRIVACY PUBLIC;
ALTER TABLE codes SET PRIVACY PUBLIC;
ALTER TABLE people SET PRIVACY DOMAIN (region, ward) REFERENCES wards (region, ward);
CREATE PRIVACY TAXONOMY icd ON codes (code, parent);
ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 5 MAX GROUPS 3;
CREATE PRIVACY BUDGET research LIMIT EPSILON 8 DELTA 1e-6 USER LIMIT EPSILON 2 SESSION LIMIT EPSILON 1
  MAX EPSILON 0.5 DEFAULT EPSILON 0.1 REFRESH NEVER;
CREATE PRIVACY BUDGET unused LIMIT EPSILON 1 REFRESH EVERY '1 month';
ALTER TABLE visits SET PRIVACY FOREIGN KEY (kind) REFERENCES people (kind);
GRANT SELECT ON people, visits TO analyst WITH PRIVACY BUDGET research;
GRANT EXACT SELECT ON people TO dpo;
"""
FORMS = """
ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 4
    table visits [stronger]: up to 4 rows
ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 6
    table visits [weaker]: up to 6 rows
ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 5 MAX GROUPS 2
    table visits [stronger]: up to 2 groups of a unit count, it was 3
ALTER TABLE visits SET PRIVACY KEY ROW
    table visits [weaker]: guarantees are about one row
ALTER TABLE old SET PRIVACY PUBLIC
    table old [weaker]: its rows may be read as they are
ALTER TABLE people SET PRIVACY PUBLIC
    table people [weaker]: its rows are shown as they are
ALTER TABLE visits SET PRIVACY HIDDEN
    table visits [stronger]: it does not exist for anybody any more
ALTER TABLE people SET PRIVACY CEILING EPSILON 12
    table people [stronger]: 8 less epsilon
ALTER TABLE people SET PRIVACY CEILING EPSILON 30
    table people [weaker]: 10 more epsilon
ALTER TABLE people SET PRIVACY CEILING EPSILON 20 DELTA 1e-6
    table people [stronger]: 0.000009 less delta
ALTER TABLE people SET PRIVACY CEILING EPSILON 20 ACCOUNTANT ZCDP
    table people [weaker]: losses add up by ZCDP
ALTER TABLE people SET PRIVACY CEILING EPSILON 12 ACCOUNTANT BASIC
    table people [stronger]: 8 less epsilon
ALTER TABLE people SET PRIVACY EXPECTED ROWS 1000
    table people: deadlines and predicted errors
ALTER TABLE visits SET PRIVACY QUANTILES OF ROWS (60 AT 1, 99 AT 5) WITHIN 0.5
    table visits: notices and EXPLAIN say what share of people
ALTER TABLE people ALTER COLUMN kind SET PRIVACY QUANTILES OF GROUPS (100 AT 1) WITHIN 0.5
    table people, column kind: notices and EXPLAIN say what share of people
ALTER TABLE people ALTER COLUMN cost SET PRIVACY QUANTILES OF VALUES (0 AT 0, 100 AT 10) WITHIN 0.5
    table people, column cost: notices and EXPLAIN say what share of people
ALTER TABLE people SET PRIVACY BLOCKS HIDDEN
    table people [stronger]: the ceiling counts every release
ALTER TABLE people SET PRIVACY BLOCKS BY (kind)
    table people [weaker]: the ceiling counts for each kind apart
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100 OUTSIDE NULL
    table people, column age: values outside become NULL
ALTER TABLE people ALTER age SET PRIVACY DOMAIN BETWEEN 0 AND 120 OUTSIDE CLAMP
    table people, column age: wider bounds: more noise
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110 NOT NULL
    table people, column age: NULL becomes the middle
ALTER TABLE people ALTER COLUMN kind SET PRIVACY DOMAIN IN (0, 1, 2)
    table people, column kind: 1 values more and 0 less are keys
ALTER TABLE people ALTER COLUMN ward SET PRIVACY DOMAIN REFERENCES wards (ward)
    table people, column ward [weaker]: the column can be computed with and grouped by
ALTER TABLE people ALTER COLUMN ward SET PRIVACY DOMAIN REFERENCES wards (ward) OR NULL
    table people, column ward [weaker]: the column can be computed with and grouped by
ALTER TABLE people ALTER COLUMN diagnosis SET PRIVACY DOMAIN TAXONOMY icd
    table people, column diagnosis [weaker]: the column can be computed with and grouped by
ALTER TABLE people ALTER COLUMN name SET PRIVACY DOMAIN DISCOVERED
    table people, column name [weaker]: values that enough units share are shown as keys
ALTER TABLE people ALTER COLUMN age SET PRIVACY CLASS QUASI IDENTIFIER
    table people, column age: protected views
ALTER TABLE people ALTER COLUMN id SET PRIVACY CLASS IDENTIFIER
    table people, column id: protected views
ALTER TABLE people ALTER COLUMN cost SET PRIVACY CLASS SENSITIVE
    table people, column cost: protected views
ALTER TABLE people ALTER COLUMN age SET PRIVACY HIDDEN
    table people, column age [stronger]: the column has no bounds any more
ALTER TABLE people SET PRIVACY DOMAIN (region, ward) HIDDEN
    table people: other combinations of keys
ALTER TABLE people SET PRIVACY DOMAIN (ward, region) REFERENCES wards (ward, region)
    table people: other combinations of keys
ALTER TABLE people SET PRIVACY FOREIGN KEY (id, kind) REFERENCES visits (person, kind)
    table people [weaker]: rows of one unit may be joined along it, and its columns counted
ALTER TABLE visits SET PRIVACY FOREIGN KEY (kind) HIDDEN
    table visits [stronger]: its columns are no longer joined and counted
CREATE PRIVACY TAXONOMY icd9 ON codes (code, parent)
    taxonomy icd9: views and keys that name it follow it
DROP PRIVACY TAXONOMY icd
    taxonomy icd: views and keys that name it follow it
CREATE PRIVACY BUDGET research LIMIT EPSILON 4 USER LIMIT EPSILON 2 SESSION LIMIT EPSILON 1 MAX EPSILON 0.5
    budget research [stronger]: 4 less epsilon
CREATE PRIVACY BUDGET research LIMIT EPSILON 8
    budget research [weaker]: 0.000001 less delta may be spent; what was spent stays spent; one user may spend all of it
CREATE PRIVACY BUDGET weekly LIMIT EPSILON 1 DELTA 1e-7 USER LIMIT EPSILON 1 SESSION LIMIT EPSILON 1
 MAX EPSILON 0.5 DEFAULT EPSILON 0.2 REFRESH EVERY '1 week'
    budget weekly: whom it is granted to
CREATE PRIVACY BUDGET unused LIMIT EPSILON 1 REFRESH NEVER
    budget unused [stronger]: it never refills
CREATE PRIVACY BUDGET unused LIMIT EPSILON 1 REFRESH EVERY '1 month' SHARE RELEASES
    budget unused [weaker]: each user reads what others pay for: one user may learn its whole limit, epsilon 1
CREATE PRIVACY BUDGET together LIMIT EPSILON 1 SHARE RELEASES
    budget together [weaker]: whom it is granted to may spend epsilon 1 of it; each user reads what others pay for
DROP PRIVACY BUDGET unused
    budget unused: nothing is paid from it any more
RESET PRIVACY BUDGET research REASON 'a new study'
    reset budget research: what was spent stays spent of the ceiling
RESET PRIVACY BUDGET research FOR USER ann REASON 'a mistake'
    reset budget research for user ann: what was spent
GRANT SELECT ON visits TO intern WITH PRIVACY BUDGET research
    SELECT on visits to intern [weaker]: intern may ask
GRANT SELECT ON TABLE wards, codes TO intern
    SELECT on codes to intern [weaker]: intern may ask
REVOKE SELECT ON TABLE visits FROM analyst
    SELECT on visits to analyst [stronger]: analyst may not ask
GRANT EXACT SELECT ON TABLE visits TO dpo
    EXACT SELECT on visits to dpo [weaker]: dpo reads visits without noise
REVOKE EXACT SELECT ON TABLE people FROM dpo
    EXACT SELECT on people to dpo [stronger]: dpo reads people without
CREATE PROTECTED VIEW v WITH (method = dp_kdtree, epsilon = 1) AS SELECT age FROM people
    view v [weaker]: whoever it is granted to reads what dp_kdtree makes of its query at epsilon 1
CREATE PROTECTED VIEW v WITH (method = dp_kdtree, epsilon = 2) AS SELECT age FROM people
    view v [weaker]: REFRESH PROTECTED VIEW builds it anew, and charges it; epsilon is 2, it was 1
REFRESH PROTECTED VIEW v
    protected view "v" is built: cost 2 epsilon
DROP PROTECTED VIEW v
    view v [stronger]: its rows are dropped; what was read of them stays known
CREATE PRIVACY CUBE c ON people (sex, kind) MEASURES (count(*)) WITH (epsilon = 1)
    view c [weaker]: whoever it is granted to reads what dp_cube makes of its cells at epsilon 1
CREATE PRIVACY CUBE c ON people (sex) MEASURES (count(*)) WITH (epsilon = 1)
    view c [weaker]: REFRESH PRIVACY CUBE builds it anew, and charges it; it is made of other cells
REFRESH PRIVACY CUBE c
    privacy cube "c" is built: cost 1 epsilon
DROP PRIVACY CUBE c
    view c [stronger]: its rows are dropped; what was read of them stays known
ADVANCE PRIVACY DATA VERSION
    the data: stored answers are no longer used
ALTER ROLE analyst SET dp.session_epsilon = 0.5
    setting dp.session_epsilon [stronger]: sessions start with it
ALTER ROLE analyst SET dp.session_epsilon TO 0.7
    setting dp.session_epsilon [weaker]: sessions start with it
ALTER ROLE analyst RESET dp.session_epsilon
    setting dp.session_epsilon [weaker]: sessions start with it
ALTER ROLE ALL IN DATABASE main SET dp.epsilon TO 0.2
    setting dp.epsilon: sessions start with it
ALTER ROLE ALL IN DATABASE main SET dp.epsilon TO DEFAULT
    setting dp.epsilon: sessions start with it
ALTER USER ann SET dp.session_epsilon TO 0.7
    setting dp.session_epsilon [stronger]: sessions start with it
ALTER ROLE ann RESET ALL
    setting dp.session_epsilon [weaker]: sessions start with it
"""
"""Statements, each followed by how the notice begins that says what it means. Views and settings of roles build on
those before them."""
CHANGES = dict(re.findall(r"^(\S.*(?:\n .*)?)\n    (.*)$", FORMS, re.MULTILINE))
TIGHTENING = [sql for sql, notice in CHANGES.items() if " [stronger]: " in notice]
ANN = Caller("ann", frozenset({"analyst"}), "session of ann")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with started(write_home(tmp_path_factory.mktemp("home"), DDL, POLICY)) as found:
        for caller in (ANN, ROOT):
            found.open(caller)
        ask(found, "SELECT count(*) FROM people", ANN)
        yield found


def files_again(engine: Engine) -> tuple[Policy, Policy]:
    """What a start does with the policy files: the policy before and after."""
    store = engine._world.store
    before = store.current
    return before, apply_files(store, store.files, engine._world.schema, weakened="dpproxy policy apply")


def is_weaker(before: Policy, after: Policy) -> bool:
    return any(found.effect is Effect.WEAKER for found in differences(before, after))


def test_each_change_is_answered_in_words_and_no_start_weakens_it(engine: Engine):
    store = engine._world.store
    declared, file = store.current, str(store.files[0])
    for sql, beginning in CHANGES.items():
        was = store.current
        notices = ask(engine, sql, ROOT).notices
        assert any(each.message.startswith(beginning) for each in notices), (sql, notices)
        subjects = {
            f"was: {d.was or 'nothing'}; now: {d.now or 'nothing'}" for d in differences(was, store.current)
        }
        assert subjects <= {each.detail for each in notices}, sql
        hints = [
            each.hint for each in notices if (each.hint or "").startswith(f"{file} still says otherwise: ")
        ]
        in_force, started_with = files_again(engine)
        assert not is_weaker(in_force, started_with), sql
        changes = [d.declared for d in differences(in_force, started_with)]
        assert any("The next start has it as the file says" in hint for hint in hints) == bool(changes), sql
        if " [stronger]: " in beginning and "IN (" not in sql:
            assert not changes, sql
        if not {"VIEW", "CUBE"} & set(sql.split()):
            store.update(lambda _: declared, sql, "the test")


def test_the_file_that_says_otherwise_is_named(engine: Engine):
    """Where the file declares what a statement changed, and nowhere else."""
    store = engine._world.store
    declared, file = store.current, store.files[0]
    said = {
        "ALTER TABLE people SET PRIVACY CEILING EPSILON 12": "CEILING EPSILON 20 ",
        "ALTER TABLE people SET PRIVACY BLOCKS HIDDEN": "BLOCKS BY (sex)",
        "ALTER TABLE people ALTER COLUMN age SET PRIVACY HIDDEN": "DOMAIN BETWEEN 0 AND 110 ",
        "REVOKE SELECT ON TABLE visits FROM analyst": "GRANT SELECT ON visits TO analyst WITH PRIVACY BUDGET research",
        "DROP PRIVACY BUDGET unused": "CREATE PRIVACY BUDGET unused LIMIT EPSILON 1 ",
        "ALTER TABLE old SET PRIVACY PUBLIC": None,
        "GRANT SELECT ON TABLE wards, codes TO intern": None,
    }
    for sql, text in said.items():
        hint = ask(engine, sql, ROOT).notices[0].hint
        store.update(lambda _: declared, sql, "the test")
        assert (hint is None) == (text is None)
        if hint is not None and text is not None:
            assert hint.startswith(f"{file} still says otherwise: ")
            assert text in hint


def test_a_real_start_leaves_what_was_tightened(tmp_path: Path):
    home = write_home(tmp_path, DDL, POLICY)
    tightening = [sql for sql in TIGHTENING if sql != "ALTER TABLE visits SET PRIVACY HIDDEN"]
    with started(home) as engine:
        kinds = ("CREATE PROTECTED VIEW", "CREATE PRIVACY CUBE")
        created = [next(sql for sql in CHANGES if sql.startswith(kind)) for kind in kinds]
        for sql in (*created, *tightening):
            ask(engine, sql, ROOT)
        tight, settings = engine.policy, engine._world.roles.of(ANN)
    with started(home) as engine:
        assert differences(tight, engine.policy) == []
        assert engine._world.roles.of(ANN) == settings != {}


def test_every_form_and_every_word_of_the_grammar_is_tried():
    """The grammar of docs/statements.md, without statements that only list or propose, or are about users."""
    text = (ROOT_FOLDER / "docs/statements.md").read_text(encoding="utf-8")
    blocks = re.findall(r"<!-- grammar -->\n```text\n(.*?)```", text, re.DOTALL)
    lines = "\n".join(blocks).replace("\n  ", " ").splitlines()
    others = (
        "SHOW",
        "SUGGEST",
        "VERIFY",
        "EXPLAIN",
        "CREATE USER",
        "ALTER USER name | CURRENT_USER PASSWORD",
        "DROP USER",
    )
    forms = [line for line in lines if line and not line.startswith(others)]
    assert len(forms) > 25
    for form in forms:
        beginning = re.match(r"[A-Z]+( [A-Z]+)*(?= [a-z\[]|$)", form)
        assert beginning is not None, form
        alike = [sql for sql in CHANGES if sql.startswith(beginning[0])]
        words = set(re.findall(r"\b[A-Z]+\b", form))
        assert words <= {word for sql in alike for word in re.findall(r"\b[A-Z]+\b", sql)}, form


REFUSED = """
ALTER TABLE people SET PRIVACY BLOCKS BY (age)
ALTER TABLE wide SET PRIVACY BLOCKS BY (sex)
GRANT SELECT ON visits TO intern WITH PRIVACY BUDGET nothing
DROP PRIVACY BUDGET research
DROP PRIVACY BUDGET nothing
GRANT SELECT ON visits TO intern
CREATE PROTECTED VIEW w WITH (epsilon = 1) AS SELECT age FROM people
CREATE PROTECTED VIEW w WITH (method = dp_kdtree, epsilon = 1, charge = nothing) AS SELECT age FROM people
ALTER TABLE people ALTER COLUMN diagnosis SET PRIVACY DOMAIN TAXONOMY icd9
DROP PRIVACY TAXONOMY used
ALTER TABLE people ALTER COLUMN weight SET PRIVACY DOMAIN DISCOVERED
ALTER TABLE people ALTER COLUMN ward SET PRIVACY DOMAIN REFERENCES old (x)
ALTER TABLE people ALTER COLUMN name SET PRIVACY DOMAIN REFERENCES old (y)
ALTER TABLE people ALTER COLUMN name SET PRIVACY DOMAIN BETWEEN 'a' AND 'b'
ALTER TABLE people ALTER COLUMN sex SET PRIVACY HIDDEN
ALTER TABLE people SET PRIVACY KEY (id) REFERENCES visits (person)
ALTER TABLE wide SET PRIVACY KEY (id) REFERENCES people (id)
ALTER TABLE wards SET PRIVACY KEY ROW
ALTER TABLE old SET PRIVACY CEILING EPSILON 1
ALTER TABLE wide SET PRIVACY CEILING EPSILON 0.5 ACCOUNTANT ZCDP
ALTER TABLE visits ALTER COLUMN kind SET PRIVACY DOMAIN REFERENCES wards (region, ward)
ALTER ROLE bob SET dp.epsilon = 0.5
"""
"""Refused, with a hint that shows what to send: in words in angle brackets what only the sender knows."""
MORE = """
ALTER TABLE wide SET PRIVACY KEY (id) MAX ROWS 3;
ALTER TABLE wide SET PRIVACY CEILING EPSILON 3;
ALTER TABLE wide ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm');
CREATE PRIVACY TAXONOMY used ON codes (code, parent);
ALTER TABLE people ALTER COLUMN diagnosis SET PRIVACY DOMAIN TAXONOMY used;
GRANT SELECT ON wards TO analyst;
"""


def test_what_hints_show_can_be_sent(tmp_path: Path):
    """No hint has three dots, and each whole statement in one is taken."""
    wide = "CREATE TABLE wide AS SELECT i % 9 AS id, 'f' AS sex FROM range(20) AS r (i)"
    more = ("ALTER TABLE people ADD COLUMN weight DOUBLE", "ALTER TABLE old ADD COLUMN y VARCHAR")
    taken = 0
    with started(write_home(tmp_path, (*DDL, wide, *more), POLICY + MORE)) as engine:
        store = engine._world.store
        declared = store.current
        for sql in REFUSED.strip().splitlines():
            with pytest.raises(Refusal) as caught:
                ask(engine, sql, ANN if sql.startswith("ALTER ROLE") else ROOT)
            hint = caught.value.hint or ""
            assert hint, sql
            assert "..." not in hint, (sql, hint)
            for statement in re.findall(r"((?:ALTER|CREATE|DROP|GRANT|REVOKE|SHOW)\b[^;:]*);", hint):
                if "<" not in statement:
                    ask(engine, statement, ANN if "ROLE" in statement else ROOT)
                    taken += 1
            store.update(lambda _: declared, sql, "the test")
    assert taken > 12
