import pytest

from dpproxy.values.errors import BoundsMissing, Refusal, TypeMismatch, UndefinedFunction, Unsupported
from tests.aggregates.conftest import Calls, filled, measured, rows_of


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("sum(*)", UndefinedFunction, "sum(*) does not exist"),
        ("var_samp(*)", UndefinedFunction, "var_samp(*) does not exist"),
        ("covar_pop(age, *)", UndefinedFunction, "covar_pop(*) does not exist"),
        (
            "stddev(DISTINCT age * 100000000000)",
            Unsupported,
            "stddev(DISTINCT ...) of so wide a range is not supported",
        ),
        ("every(DISTINCT smokes)", Unsupported, "every(DISTINCT ...) is not supported"),
        ("sum(DISTINCT age, pay)", Unsupported, "DISTINCT of several values is not supported"),
        ("sum(DISTINCT *)", UndefinedFunction, "DISTINCT * is not a value"),
        ("sum(DISTINCT city)", TypeMismatch, "an aggregate of type text is not answered"),
        ("corr(age, city)", TypeMismatch, "an aggregate of type text is not answered"),
        ("corr(age, age / height)", BoundsMissing, "the argument of the aggregate has no bounds"),
        ("sum(age) FILTER (WHERE age)", TypeMismatch, "argument must be type boolean, not type integer"),
        ("count_if(age)", TypeMismatch, "argument must be type boolean, not type integer"),
    ],
)
def test_refused(calls: Calls, text: str, error: type[Refusal], message: str):
    with pytest.raises(error) as refused:
        calls(text)
    assert refused.value.message == message


@pytest.mark.parametrize("more", ["", " FILTER (WHERE smokes)"])
def test_distinct_sums_add_each_value_once(calls: Calls, more: str):
    total, mean, derived = calls(
        f"sum(DISTINCT age){more}, avg(DISTINCT grade){more}, sum(DISTINCT grade){more}"
    )
    rows = rows_of(age=(7, 7, 30, 300, None, 0), grade=(1, 5, None, 9), smokes=(True, False))
    with filled([*rows, *rows]) as connection:
        assert measured(connection, total.measures) == [(137,)]
        assert measured(connection, mean.measures) == [(1 + 5 - 2 * 3, 2)]
    assert derived.measures == mean.measures
    assert total.measures[0].width == 100


@pytest.mark.parametrize(
    "text",
    [
        "sum(DISTINCT age)",
        "avg(DISTINCT age)",
        "sum(DISTINCT height)",
        "avg(DISTINCT odd)",
        "sum(DISTINCT pay)",
    ],
)
def test_a_row_moves_distinct_sums_by_no_more_than_their_width(calls: Calls, text: str):
    """Each row is added to every other one, so that some values are new and some are not."""
    (call,) = calls(text)
    values = {"age": (None, -5, 0, 3, 100, 101), "height": (None, 0.0, 3.3, 256.0, 1e9), "odd": (-1.0, 0.1, 3.0, None),
              "pay": (None, 0, 17.25, 5000, 6000)}  # fmt: skip
    name = text.split()[1].rstrip(")")
    rows = rows_of(**{name: values[name]})
    furthest = [0] * len(call.measures)
    with filled([*rows, *rows]) as connection:
        for first in range(len(rows)):
            for second in range(len(rows) * 2):
                one = measured(connection, call.measures, f"rowid = {first}")[0]
                both = measured(connection, call.measures, f"rowid IN ({first}, {second})")[0]
                furthest = [max(f, abs(a - b)) for f, a, b in zip(furthest, both, one, strict=True)]
    assert furthest == [m.width for m in call.measures]
