import pytest

from dpproxy.session.arrays import MOST_VALUES, lists
from dpproxy.values.errors import InvalidParameter, TooComplex
from dpproxy.values.pgtypes import INT4, TEXT

SQL = "SELECT $2 FROM t WHERE x = ANY ($1) AND y <>all( $3::int[] )"


def test_lists_are_spread():
    found = lists(SQL)
    assert found is not None
    assert found.numbers == {1, 3}
    assert found.single() == "SELECT $2 FROM t WHERE x = ANY (ARRAY[$1]) AND y <>all( ARRAY[$3] )"
    assert [kind.oid for kind in found.types((TEXT, INT4, INT4))] == [1009, 23, 1007]
    assert found.spread((["a", "b"], 5, [1, 2, None]), (1009, 23, 1007)) == (
        "SELECT $2 FROM t WHERE x = ANY (ARRAY[$1, $4]) AND y <>all( ARRAY[$3, $5, $6] )",
        ("a", 5, 1, "b", 2, None),
        [25, 23, 23, 25, 23, 23],
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT '= ANY ($1)'",
        "SELECT x = ANY (SELECT $1)",
        "SELECT x = ANY ($1), $1",
        "SELECT x <> ANY ($1)",
        "SELECT x = ALL ($1)",
        "SELECT 'x = ANY ($1)",
    ],
)
def test_what_is_no_list(sql: str):
    assert lists(sql) is None


def test_a_list_of_none_or_of_too_many():
    found = lists(SQL)
    assert found is not None
    for value, written in (([], "x = ANY ('{}')"), (None, "x = ANY (ARRAY[NULL])")):
        text, flat, _ = found.spread((value, 5, [1]), (0, 0, 0))
        assert written in text
        assert flat[0] is None
    with pytest.raises(InvalidParameter):
        found.spread(([[1]], 5, [1]), (0, 0, 0))
    with pytest.raises(TooComplex):
        found.spread(([1] * (MOST_VALUES + 1), 5, [1]), (0, 0, 0))
