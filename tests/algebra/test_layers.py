"""Values of ``Let`` as columns of the release: the same answers, each value written once."""

import duckdb
import pytest

from dpproxy.algebra import nodes, printing
from dpproxy.algebra.figures import Figure, Settled
from dpproxy.algebra.layers import filled
from dpproxy.analysis import duck

A, B = duck.column("m0", "r0"), duck.column("m0", "r1")
ENGINE = "WITH r0 AS (SELECT * FROM (VALUES (0, 3), (1, 4)) AS t(o, m0)), r1 AS (SELECT 1 AS o, 10 AS m0) "


def layered(query: nodes.Select) -> nodes.Select:
    return filled(query, Settled(id))


def let(value: nodes.Expr, name: str = "l") -> nodes.Expr:
    """Twice the value, less the square of what is one more."""
    local = nodes.Local(name, 0)
    more = nodes.Let("k", (duck.binary("+", local, duck.integer(1)),), _squared(nodes.Local("k", 0)))
    return nodes.Let(name, (value,), duck.binary("-", duck.binary("+", local, local), more))


def _squared(value: nodes.Expr) -> nodes.Expr:
    return duck.binary("*", value, value)


def select(*items: nodes.Expr, **more: object) -> nodes.Select:
    return nodes.Select(
        tuple(duck.named(item, f"c{i}") for i, item in enumerate(items)),
        nodes.Release(0),
        **more,  # type: ignore[arg-type]
    )


def rows(query: nodes.Query) -> list[tuple[object, ...]]:
    with duckdb.connect() as engine:
        return engine.execute(ENGINE + printing.text(query)).fetchall()


def test_answers_are_the_same():
    value = let(duck.binary("*", A, duck.integer(5)))
    query = select(
        value,
        duck.binary("-", value, A),
        where=nodes.Binary(">", value, duck.integer(-1000)),
        order=(nodes.Ordered(value),),
    )
    assert rows(layered(query)) == rows(query) == [(40 - 21 * 21, 40 - 21 * 21 - 4), (30 - 256, 30 - 256 - 3)]
    assert not layered(query).has(nodes.Let, nodes.Local)


def test_equal_values_are_one_column():
    text = printing.text(layered(select(let(duck.binary("*", A, A)), let(duck.binary("*", A, A), "other"))))
    assert text.count('"r0"."m0" * "r0"."m0"') == 1


def test_values_are_beside_the_release_that_they_follow_from():
    join = nodes.Join(nodes.Release(1), nodes.Binary("=", duck.column("o", "r0"), duck.column("o", "r1")))
    query = select(let(duck.binary("+", A, A)), let(duck.binary("+", B, B)), joins=(join,))
    assert rows(layered(query)) == rows(query) == [(16 - 81, 40 - 441)]


@pytest.mark.parametrize("value", [A, duck.integer(7)])
def test_columns_and_constants_stand_for_themselves(value: nodes.Expr):
    query = select(nodes.Let("l", (value,), _squared(nodes.Local("l", 0))))
    assert printing.text(layered(query)) == printing.text(select(_squared(value)))


def test_queries_inside_share_their_own():
    inside = select(let(duck.binary("+", A, A)), limit=duck.integer(1))
    assert layered(select(nodes.Scalar(inside))) == select(nodes.Scalar(layered(inside)))


def test_without_values_nothing_changes():
    query = select(A)
    assert layered(query) == query


def test_what_stands_in_several_places_is_made_once(monkeypatch: pytest.MonkeyPatch):
    tower = A
    for _ in range(40):
        tower = _squared(nodes.Let("l", (tower,), _squared(nodes.Local("l", 0))))
    called = []
    made = nodes.Node.transform

    def counted(node: nodes.Node, *more: object) -> nodes.Node:
        called.append(node)
        return made(node, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(nodes.Node, "transform", counted)
    layered(select(tower, tower))
    assert len(called) < 1000  # without, each of 40 doubles it


def test_figures_are_filled_in_wherever_they_stand():
    seven, later = duck.integer(7), nodes.Later(Figure(float))
    settled = Settled(lambda _: seven)
    inner = nodes.Select((later,), nodes.Release(1))
    query = nodes.Select((let(A), nodes.Scalar(inner)), nodes.Release(0), where=nodes.Binary(">", later, A))
    assert not filled(query, settled).has(nodes.Later, nodes.Let)
    assert filled(inner, settled) == nodes.Select((seven,), nodes.Release(1))
    both = nodes.Later(Figure(lambda value: duck.binary("+", value, later), (Figure(int),)))
    assert filled(both, settled) == duck.binary("+", seven, seven)
