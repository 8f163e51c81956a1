"""Nodes: walked from the top, changed without touching what stays the same."""

import pytest

from dpproxy.algebra import nodes

X, Y = nodes.ColumnRef("x"), nodes.ColumnRef("y", "t")
QUERY = nodes.Select(
    (nodes.Named(nodes.Call("sum", (X,)), "m0"),),
    nodes.Subquery(nodes.Select((nodes.Star(),), nodes.Table("t")), "s"),
    where=nodes.And((nodes.Binary("<", X, nodes.Number("3")), nodes.Case(((nodes.IsNull(Y), X),), Y))),
    group=(X,),
)


def test_a_walk_goes_from_the_top_in_the_order_of_the_text():
    found = [type(node).__name__ for node in QUERY.walk()]
    assert found == [
        *(
            "Select",
            "Named",
            "Call",
            "ColumnRef",
            "Subquery",
            "Select",
            "Star",
            "Table",
            "And",
            "Binary",
            "ColumnRef",
        ),
        *("Number", "Case", "IsNull", "ColumnRef", "ColumnRef", "ColumnRef", "ColumnRef"),
    ]


def test_a_walk_stays_outside_what_it_does_not_enter():
    outside = list(QUERY.walk(lambda node: node is QUERY or not isinstance(node, nodes.Query)))
    assert [n for n in outside if isinstance(n, nodes.Star | nodes.Table)] == []
    assert outside[0] is QUERY


def test_parts_in_tuples_of_tuples_are_parts():
    values = nodes.Values(((X, Y), (Y, X)), "v", ("a", "b"))
    assert list(values.parts()) == [X, Y, Y, X]
    assert list(values.find_all(nodes.ColumnRef)) == [X, Y, Y, X]


def test_what_is_not_changed_is_the_same_object():
    assert QUERY.transform(lambda _: None) is QUERY
    changed = QUERY.transform(lambda node: nodes.ColumnRef("z") if node == Y else None)
    assert isinstance(changed, nodes.Select)
    assert changed.source is QUERY.source
    assert changed.items is QUERY.items
    assert [c.name for c in changed.find_all(nodes.ColumnRef)] == ["x", "x", "z", "x", "z", "x"]
    assert [c.name for c in QUERY.find_all(nodes.ColumnRef)] == ["x", "x", "y", "x", "y", "x"]


def test_what_a_rule_answers_is_not_looked_at_again():
    wrapped = X.transform(lambda node: nodes.Paren(X) if isinstance(node, nodes.ColumnRef) else None)
    assert wrapped == nodes.Paren(X)


def test_what_stands_in_several_places_is_made_once_where_it_is_kept():
    shared = nodes.Paren(X)
    asked: list[nodes.Node] = []

    def rule(node: nodes.Node) -> nodes.Node | None:
        asked.append(node)
        return Y if node == X else None

    made = nodes.Binary("+", shared, shared).transform(rule, {})
    assert made == nodes.Binary("+", nodes.Paren(Y), nodes.Paren(Y))
    assert sum(node is shared for node in asked) == 1


def test_a_bare_name_is_the_name():
    assert nodes.ColumnRef(nodes.Bare("m0")) == nodes.ColumnRef("m0")
    assert nodes.OPERATORS.isdisjoint({"#", "<<"})


def test_or_stands_in_parentheses_inside_and():
    either = nodes.Or((nodes.IsNull(X), nodes.IsNull(Y)))
    with pytest.raises(AssertionError):
        nodes.And((either, nodes.IsNull(X)))
    assert nodes.And((nodes.Paren(either), nodes.IsNull(X))).conditions[0] == nodes.Paren(either)
