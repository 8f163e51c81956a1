from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from dpproxy.anonymize.model import (
    WORDS,
    Anonymized,
    Attribute,
    InvalidOption,
    LatticeDomain,
    Linked,
    Role,
    ViewBuild,
    ViewRequest,
    silent,
)
from dpproxy.policy.model import ColumnClass, OptionValue, ProtectedView
from dpproxy.values.pgtypes import INT4, INT8, TEXT
from dpproxy.views.columns import Listed, NumberColumn, ViewColumn
from dpproxy.views.make import checked, figures, made, places, relations
from udfs.privacy import Exact, Loss

AGE = ViewColumn("age", INT4, NumberColumn(0, 9, Fraction(1)), "age", ColumnClass.QUASI_IDENTIFIER)
SEX = ViewColumn("sex", TEXT, Listed(("f", "m")), "sex", ColumnClass.SENSITIVE)


class Echo:
    """Releases the rows; keeps what it was asked."""

    name = "echo"
    options: Mapping[str, str] = {"k": "how many"}
    private = True
    asked: ViewRequest

    def check(self, request: ViewRequest) -> ViewBuild:
        self.asked = request
        return ViewBuild("none", Loss(1), lambda rows, _words, _progress: Anonymized(rows))


def view(**options: OptionValue) -> ProtectedView:
    return ProtectedView("v", (("method", "echo"), *sorted(options.items())), "SELECT")


def roles(**options: OptionValue) -> list[Role]:
    method = Echo()
    checked(view(**options), [AGE, SEX], 7, {"echo": method})
    return [a.role for a in method.asked.attributes]


def test_a_method_is_asked_without_what_every_view_takes():
    method = Echo()
    checked(view(k=3, charge="lab", reason="asked for"), [AGE], 7, {"echo": method})
    assert method.asked == ViewRequest((Attribute("age", LatticeDomain(0, 9), Role.QUASI),), {"k": 3}, 7)


@pytest.mark.parametrize(
    ("workload", "columns"),
    [
        ("age", ("age",)),
        (("age", "SELECT avg(AGE) FROM v WHERE \"sex\" = 'f' AND other = 3"), ("age", "age, sex")),
        (("SELECT 1", "DROP TABLE v", "SELECT ("), ("SELECT 1", "DROP TABLE v", "SELECT (")),
    ],
)
def test_a_statement_of_the_workload_stands_for_the_columns_it_uses(
    workload: OptionValue, columns: OptionValue
):
    method = Echo()
    method.options = {"workload": ""}
    checked(view(workload=workload), [AGE, SEX], 7, {"echo": method})
    assert method.asked.options["workload"] == columns


def test_lists_of_the_view_win_over_classes_and_what_neither_names_is_both():
    assert roles() == [Role.QUASI, Role.SENSITIVE]
    assert roles(quasi=("sex",)) == [Role.BOTH, Role.QUASI]
    assert roles(quasi=("sex", "age"), sensitive="age") == [Role.BOTH, Role.QUASI]


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"l": 3}, "l"),
        ({"quasi": ("id",)}, "quasi"),
        ({"sensitive": 3}, "sensitive"),
        ({"method": "x"}, "method"),
    ],
)
def test_options_that_nobody_knows(options: dict[str, OptionValue], option: str):
    asked = ProtectedView("v", tuple({"method": "echo", **options}.items()), "SELECT")
    with pytest.raises(InvalidOption) as caught:
        checked(asked, [AGE, SEX], None, {"echo": Echo()})
    assert caught.value.option == option
    assert caught.value.hint


def test_rows_are_places_in_an_order_of_their_own_without_those_that_have_none():
    rows = pa.table({"c0": [5, 1, 5, None, 3], "c1": ["m", "f", "f", "f", "x"]})
    assert places([AGE, SEX], Exact(rows)).tolist() == [[1, 0], [5, 0], [5, 1]]
    assert places([AGE, SEX], Exact(rows.slice(0, 0))).shape == (0, 2)


def test_released_rows_stand_in_random_order_and_keep_where_they_came_from():
    rows = np.arange(64, dtype=np.int64)[:, None]
    build = ViewBuild("", None, lambda rows, _w, _p: Anonymized(rows, source=np.arange(64)))
    found = made(build, rows, WORDS, silent)
    assert found.rows.tolist() != rows.tolist()  # 1 in 64!
    assert sorted(found.rows.tolist()) == rows.tolist()
    assert found.source is not None
    assert found.source.tolist() == found.rows[:, 0].tolist()


def test_columns_that_a_method_adds_and_relations_beside_the_rows():
    linked = {"buckets": Linked(("group", "low"), np.array([[1, 4]]), {"low": "age"})}
    found = Anonymized(np.array([[4, 1]]), linked)
    kept = relations(ViewBuild("", None, lambda *_: found, columns=("age", "group")), [AGE], found)
    assert [(c.name, c.type) for c in kept[""].columns] == [("age", INT4), ("group", INT8)]
    assert kept["buckets"].rows.to_pydict() == {"group": [1], "low": [4]}
    assert kept["buckets"].columns[1].high == 9


def test_rows_with_too_many_places_for_one_number_are_sorted_alike():
    wide = [ViewColumn(n, INT8, NumberColumn.of(0, 2**40, Fraction(1)), n) for n in ("a", "b", "c")]
    rows = pa.table({"c0": [2**39, 0, 2**39], "c1": [1024, 2**40, 0], "c2": [0, 1024, 2048]})
    step = 2**40 // 2**30
    expected = sorted([value // step for value in row.values()] for row in rows.to_pylist())
    assert places(wide, Exact(rows)).tolist() == expected


def test_linkage_is_by_what_the_view_says_intruders_know():
    """Ages alone link 1 of 2 rows each; with the column that is sensitive, which is released as it is, all."""
    rows = np.array([[0, 0], [1, 1], [8, 0], [9, 1]])
    released = np.array([[0, 0], [0, 1], [9, 0], [9, 1]])
    build = ViewBuild("", None, lambda *_: Anonymized(released, source=np.arange(4)))
    found = figures(view(), build, [AGE, SEX], rows, made(build, rows, WORDS, silent))
    assert found["linkage_informed"] == 100
    assert found["linkage"] == 50
    both = figures(view(quasi=("age", "sex")), build, [AGE, SEX], rows, made(build, rows, WORDS, silent))
    assert both["linkage"] == both["linkage_informed"] == 100
