"""Hints about several tables, and about names: a statement that is hinted at passes, as the error records' do."""

import pytest

from dpproxy.values.errors import Refusal
from tests.golden.kinds import check_hint
from tests.golden.world import build, plan_any

JOINED = (
    "SELECT a.age FROM people a JOIN visits v ON v.person = a.id",
    "SELECT a.* FROM people a, visits v WHERE v.person = a.id AND v.cost > 1",
    "SELECT p.age FROM people p",
    "SELECT t.x FROM (SELECT age AS x, id FROM people) AS t",
    "SELECT t.cost FROM (SELECT a.id, v.cost FROM people a, visits v WHERE v.person = a.id) AS t",
    "SELECT * FROM (SELECT a.id, v.cost FROM people a, visits v WHERE v.person = a.id) AS t",
    "SELECT v.town FROM people a JOIN visits v ON v.person = a.id WHERE a.age > 3 ORDER BY 1 LIMIT 3",
)
SCHEMA = (
    "CREATE TABLE people (id INTEGER, age INTEGER)",
    "CREATE TABLE visits (person INTEGER, cost INTEGER, town VARCHAR)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 3",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 1000",
    "ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 10000",
    "ALTER TABLE visits ALTER COLUMN town SET PRIVACY DOMAIN IN ('a', 'b')",
)


@pytest.mark.parametrize("sql", JOINED)
def test_what_is_hinted_at_several_tables_passes(sql: str):
    world = build(SCHEMA)
    with pytest.raises(Refusal) as caught:
        plan_any(world, sql, {})
    hint = caught.value.hint or ""
    assert hint.startswith("SELECT ")
    assert hint.endswith(";")
    assert "..." not in hint
    check_hint(world, hint)


@pytest.mark.parametrize(
    ("name", "near"), [("age", None), ("coun", "count"), ("cout", "count"), ("substrng", "substring")]
)
def test_a_short_name_is_not_meant_as_another(name: str, near: str | None):
    with pytest.raises(Refusal) as caught:
        plan_any(build(SCHEMA), f"SELECT {name}(age) FROM people", {})
    assert (near is not None) == ("Did you mean" in (caught.value.hint or ""))
    assert near is None or f"{near}()" in (caught.value.hint or "")
