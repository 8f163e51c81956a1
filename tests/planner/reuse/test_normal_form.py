"""Which statements are one question: never two that differ, and one in all its words."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dpproxy.algebra import nodes, printing
from dpproxy.analysis.totality import check_total
from dpproxy.planner.release import exact
from dpproxy.planner.reuse.normal_form import normal, stage
from tests.golden.world import World, build, plan_of
from tests.planner.wordings import CONDITIONS, HEADER, JOINED, KEYS, MEASURES, QUESTIONS, Asked, worded
from tests.reading import read

CALM = settings(deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module", params=[False, True], ids=["cut by each statement", "prepared"])
def world(request: pytest.FixtureRequest) -> World:
    return replace(build(HEADER), prepared=request.param)


def form(world: World, sql: str) -> object:
    """What is asked, whatever the order of columns."""
    [part] = plan_of(world, sql).parts
    found = stage(part.query)
    assert found.rows[0] == "rows", sql
    return (
        found.rows,
        found.conditions,
        *(sorted(map(repr, terms)) for terms in (found.keys, found.measures)),
    )


@CALM
@given(data=st.data())
def test_one_question_has_one_form(world: World, data: st.DataObject):
    asked = data.draw(QUESTIONS)
    assert form(world, data.draw(worded(asked))) == form(world, data.draw(worded(asked)))


@CALM
@given(data=st.data())
def test_another_question_has_another_form(world: World, data: st.DataObject):
    asked = data.draw(QUESTIONS)
    other = data.draw(st.one_of(st.just(changed) for changed in _changed(asked)))
    assert form(world, data.draw(worded(asked))) != form(world, data.draw(worded(other)))


@CALM
@given(data=st.data())
def test_a_text_means_what_its_nodes_mean(world: World, data: st.DataObject):
    """A pair of parentheses that is missing would be another statement."""
    queries: list[nodes.Query] = []

    def checked(query: nodes.Query) -> frozenset[int]:
        queries.append(query)
        return check_total(query)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "check_total", checked)
        plan_of(world, data.draw(worded(data.draw(QUESTIONS))))
    assert queries
    assert [normal(read(printing.text(q))) for q in queries] == [normal(_as_written(q)) for q in queries]


def _as_written(query: nodes.Query) -> nodes.Node:
    """Without what a text does not say: that bounds are idle."""
    return query.transform(lambda n: replace(n, idle=False) if isinstance(n, nodes.Case) and n.idle else None)


def _changed(asked: Asked) -> list[Asked]:
    """The question with one line more, or one less."""
    found = [replace(asked, conditions=asked.conditions ^ {n}) for n in range(len(CONDITIONS))]
    found += [replace(asked, keys=asked.keys ^ {n}) for n in range(len(KEYS))]
    found += [replace(asked, joined=asked.joined ^ {n}) for n in range(len(JOINED)) if asked.both]
    return [*found, replace(asked, both=not asked.both, joined=frozenset())]


def test_every_line_is_a_question_of_its_own(world: World):
    statements = [f"SELECT count(*) FROM t WHERE {words[0].format(a='')}" for words in CONDITIONS]
    statements += [f"SELECT {measure.format(a='')} FROM t" for measure in MEASURES]
    statements += [f"SELECT {key.format(a='')}, count(*) FROM t GROUP BY 1" for key in KEYS]
    statements += ["SELECT count(*) FROM w", "SELECT count(*) FROM w, t WHERE id = person"]
    assert len({repr(form(world, sql)) for sql in statements}) == len(statements)


SAME = (
    ("SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM w WHERE person = id AND h > 3)",
     "SELECT count(*) FROM t AS p WHERE EXISTS (SELECT h FROM w AS q WHERE 3 < q.h AND p.id = q.person)"),
    ("SELECT sum(n) FROM (SELECT person, count(*) AS n FROM w WHERE h > 3 GROUP BY person) AS s",
     "WITH s AS (SELECT count(*) AS m, q.person FROM w AS q WHERE 3 < q.h GROUP BY 2) SELECT sum(s.m) FROM s"),
    ("SELECT count(*) FROM w AS a JOIN w AS b ON a.person = b.person WHERE a.h > 3 AND b.z > 1",
     "SELECT count(*) FROM w AS b JOIN w AS a ON a.person = b.person WHERE a.h > 3 AND b.z > 1",
     "SELECT count(*) FROM w AS a JOIN w AS b ON b.person = a.person WHERE a.z > 1 AND b.h > 3"),
    ("SELECT y, b, sum(x) FROM t GROUP BY y, b", "SELECT sum(x), b, y FROM t GROUP BY 2, 3",
     "WITH s AS (SELECT * FROM t) SELECT b, y, sum(x) FROM s GROUP BY b, y"),
)  # fmt: skip


@pytest.mark.parametrize("wordings", SAME)
def test_subqueries_and_self_joins_have_one_form(world: World, wordings: tuple[str, ...]):
    assert len({repr(form(world, sql)) for sql in wordings}) == 1


OTHER = (
    "SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM w WHERE person = id AND h > 3)",
    "SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM w WHERE person = id AND h > 4)",
    "SELECT count(*) FROM t WHERE NOT EXISTS (SELECT 1 FROM w WHERE person = id AND h > 3)",
    "SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM w WHERE person = id AND h > x)",
    "SELECT count(*) FROM w AS a JOIN w AS b ON a.person = b.person WHERE a.h > 3 AND b.z > 1",
    "SELECT count(*) FROM w AS a JOIN w AS b ON a.person = b.person WHERE a.h > 3 AND a.z > 1",
    "SELECT count(*) FROM w AS a JOIN w AS b ON a.person = b.person WHERE a.h > 3 OR b.z > 1",
    "SELECT sum(n) FROM (SELECT person, count(*) AS n FROM w GROUP BY person) AS s",
    "SELECT sum(n) FROM (SELECT person, sum(h) AS n FROM w GROUP BY person) AS s",
    "SELECT sum(n) FROM (SELECT person, ward, count(*) AS n FROM w GROUP BY person, ward) AS s",
    "SELECT sum(n) FROM (SELECT person, count(*) AS n FROM w GROUP BY person HAVING count(*) > 1) AS s",
    "SELECT count(*) FROM t LEFT JOIN w ON id = person",
    "SELECT count(*) FROM (SELECT id FROM t UNION ALL SELECT id FROM t) AS s",
)


def test_other_subqueries_and_joins_have_other_forms(world: World):
    parts = [plan_of(world, sql).parts for sql in OTHER]
    assert len({repr(stage(part.query)) for [part] in parts}) == len(OTHER)


def test_what_no_rule_covers_is_told_by_its_text():
    one, other = (
        normal(read(f"SELECT CAST(COUNT(*) AS INT128) AS m0 FROM t LEFT JOIN w ON a = {c}"))
        for c in ("b", "c")
    )
    assert one.rows[0] == "text"
    assert one != other


def test_a_name_that_two_queries_may_have_is_not_guessed():
    """The inner table may have a column of the name that the query around it made up."""
    asked = (
        "SELECT COUNT(*) AS m0 FROM (SELECT x AS v FROM t) AS s WHERE EXISTS (SELECT 1 FROM u WHERE v = 1)",
        "SELECT COUNT(*) AS m0 FROM (SELECT y AS v FROM t) AS s WHERE EXISTS (SELECT 1 FROM u WHERE v = 1)",
    )
    one, other = map(normal, map(read, asked))
    assert one.rows[0] == "text"
    assert one != other


def test_one_moment_in_two_spellings_is_one_question():
    span = "TIMESTAMP '2020-01-01 00:00:00' AND TIMESTAMP '2030-01-01 00:00:00'"
    moments = build([
        "CREATE TABLE t (id INTEGER NOT NULL, seen TIMESTAMP, day DATE)",
        "ALTER TABLE t SET PRIVACY KEY (id)",
        "ALTER TABLE t ALTER COLUMN seen SET PRIVACY DOMAIN BETWEEN " + span,
        "ALTER TABLE t ALTER COLUMN day SET PRIVACY DOMAIN BETWEEN DATE '2020-01-01' AND DATE '2030-01-01'",
    ])  # fmt: skip
    asked = [
        ("seen >= '2024-01-02'", "seen >= '2024-01-02T00:00:00Z'", "seen >= '2024-01-02 00:00:00.000+02'::timestamp",
         "timestamp '2024-01-02 00:00+02' <= seen"),
        ("day >= '2024-01-02'", "day >= '2024-01-02T00:00:00Z'", "day >= date '2024-01-02 23:59:59'"),
    ]  # fmt: skip
    for spellings in asked:
        forms = {repr(form(moments, f"SELECT count(*) FROM t WHERE {words}")) for words in spellings}
        assert len(forms) == 1
