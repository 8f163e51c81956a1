"""How names are found in FROM, and what is refused."""

import pytest
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.scopes import ExpressionLevel, Parameters
from dpproxy.analysis.typed import Typed
from dpproxy.planner.accept import parse
from dpproxy.planner.rows.fields import Declared, Field, Identifier
from dpproxy.planner.rows.relation import JoinedRows, Scan, normal, own_nodes
from dpproxy.policy.model import Between
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import BOOL, INT4, Column


def scan(alias: str, *names: str, key: str | None = None) -> Scan:
    fields: list[Field] = [Declared(n, Column(f"{n}_{alias}", INT4), Between(0, 9)) for n in names]
    if key is not None:
        fields.append(Identifier(key, Column(f"{key}_{alias}", INT4), ("t", key), "t", is_unit=True))
    content = tuple(duck.column(f.column.name) for f in fields)
    return Scan(alias, nodes.Table(alias), tuple(fields), f"table_{alias}", content=content)


def rows(*scans: Scan, outer: JoinedRows | None = None) -> JoinedRows:
    return JoinedRows(
        scans, None, "t", 1, 1, held=False, content=tuple(c for s in scans for c in s.content), outer=outer
    )


A, B = scan("a", "x", "y", key="id"), scan("b", "x", "z")
BOTH = rows(A, B)


def test_a_scan_is_told_apart_by_its_first_physical_column():
    assert (A.name, B.name) == ("x_a", "x_b")
    assert A.find("y") is A.fields[1]
    assert A.find("Y") is None


@pytest.mark.parametrize(
    ("name", "held"), [("y", "y_a"), ("a.x", "x_a"), ("b.x", "x_b"), ("z", "z_b"), ("a.id", "id_a")]
)
def test_a_name_is_found(name: str, held: str):
    assert BOTH.field(exp.column(*reversed(name.split(".")))).column.name == held


@pytest.mark.parametrize(
    ("name", "sqlstate"),
    [("x", "42702"), ("a.z", "42703"), ("nothing", "42703"), ("c.x", "42P01"), ("table_a.x", "42P01")],
)
def test_a_name_is_not_found(name: str, sqlstate: str):
    with pytest.raises(Refusal) as caught:
        BOTH.field(exp.column(*reversed(name.split("."))))
    assert caught.value.sqlstate == sqlstate


def test_a_hint_lists_values_but_no_keys():
    with pytest.raises(Refusal) as caught:
        rows(A).field(exp.column("idd"))
    assert caught.value.hint == "Columns of table_a: x, y."


def test_the_nearest_relation_is_meant_and_those_around_are_seen():
    inside = rows(B, outer=rows(A))
    assert inside.field(exp.column("x")).column.name == "x_b"
    assert inside.field(exp.column("y")).column.name == "y_a"
    assert inside.field(exp.column("x", "a")).column.name == "x_a"
    assert not inside.knows("y")
    with pytest.raises(Refusal) as caught:
        inside.field(exp.column("x", "c"))
    assert caught.value.sqlstate == "42P01"


def test_the_second_column_of_using_has_its_qualified_name_only():
    using = replace(BOTH, hidden=frozenset({("b", "x")}))
    assert using.field(exp.column("x")).column.name == "x_a"
    assert using.field(exp.column("x", "b")).column.name == "x_b"


def test_the_leaves_of_expressions():
    answer = Typed(nodes.TRUE, BOOL)
    asked: list[exp.Expr] = []

    def inner(node: exp.Expr, around: JoinedRows) -> Typed | None:
        asked.append(node)
        assert around is found
        return answer

    found = replace(BOTH, inner=inner)
    scope = found.scope(Parameters())
    assert scope.level is ExpressionLevel.ROW
    typed = found.leaf(exp.column("y"))
    assert typed is not None
    assert '"y_a"' in duck.text(typed.sql)
    assert (typed.low, typed.high) == (0, 9)
    exists = exp.Exists(this=exp.Select())
    assert found.leaf(exists) is answer
    assert asked == [exists]
    assert BOTH.leaf(exists) is None
    with pytest.raises(Refusal) as caught:
        found.leaf(exp.Count(this=exp.Star()))
    assert caught.value.sqlstate == "42803"


def test_conditions_add_up():
    one, two = nodes.TRUE, nodes.FALSE
    assert BOTH.where([one]).where([two]).conditions == (one, two)
    assert BOTH.conditions == ()


def test_a_table_is_named_once():
    assert rows(A, B, replace(A, alias="c")).tables == "table_a, table_b"


def test_the_nodes_of_a_subquery_are_not_its_own():
    tree = parse("SELECT x FROM a WHERE y > (SELECT max(z) FROM b) AND EXISTS (SELECT w FROM b)")
    assert [n.name for n in own_nodes(tree) if type(n) is exp.Column] == ["x", "y"]


def written(sql: str, found: JoinedRows) -> str:
    tree = parse(sql)
    assert isinstance(tree, exp.Select)
    before = duck.words(tree)
    normalised = duck.words(normal(tree, found))
    assert duck.words(tree) == before  # the given tree is as it was
    return normalised


def test_a_column_is_written_one_way():
    lone = {
        written(f"SELECT {a}x FROM t AS a WHERE {b}y > 1", rows(A)) for a in ("", "a.") for b in ("", "a.")
    }
    assert len(lone) == 1
    assert "a." not in lone.pop()
    both = {written(f"SELECT {a}y, {b}z FROM a, b", BOTH) for a in ("", "a.") for b in ("", "b.")}
    assert len(both) == 1
    assert '"a".y, "b".z' in both.pop()


def test_a_missing_table_is_refused_but_for_those_around():
    with pytest.raises(Refusal) as caught:
        written("SELECT c.x FROM a", rows(A))
    assert caught.value.sqlstate == "42P01"
    assert "c" in written("SELECT c.x FROM a", rows(A, outer=rows(B)))
