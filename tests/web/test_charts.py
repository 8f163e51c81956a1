"""Charts: marks inside their area, whiskers where the intervals are, words for those who do not see them."""

from dpproxy.web.answers import Series, Table, Value
from dpproxy.web.charts import MOST_MARKS, charts, shown_ticks


def chart_of(*values: Value | None, ordered: bool = False, labels: tuple[str, ...] | None = None) -> Table:
    names = labels or tuple(str(n) for n in range(len(values)))
    return Table((), tuple(() for _ in values), names, (Series("people", values),), ordered)


def test_bars_begin_at_zero_and_have_whiskers():
    [found] = charts(chart_of(Value(50, 40, 60), Value(100, 90, 110)))
    first, second = found.marks
    assert (found.zero, found.is_upright, found.height) == (0, False, 88)
    assert 0 < first.low < first.value < first.high < second.value < second.high <= 100
    assert (first.text, first.label) == ("50 ± 10", "0")
    assert found.words.startswith(
        "people with the interval that each value lies in. 0: 50, within 40 to 60; 1: 100"
    )


def test_values_below_zero_go_to_the_left():
    [found] = charts(chart_of(Value(-50, -60, -40), Value(50, 40, 60)))
    assert 0 < found.marks[0].value < found.zero < found.marks[1].value


def test_values_within_their_error_are_marked():
    [found] = charts(chart_of(Value(5, -20, 30), Value(100, 90, 110)))
    assert [mark.is_unclear for mark in found.marks] == [True, False]


def test_keys_with_an_order_make_points_from_left_to_right():
    [found] = charts(chart_of(*(Value(n, n - 1, n + 1) for n in range(500, 530)), ordered=True))
    assert found.is_upright
    assert [mark.at for mark in found.marks] == sorted(mark.at for mark in found.marks)
    assert all(0 <= place <= 100 for mark in found.marks for place in (mark.low, mark.value, mark.high))
    assert len(shown_ticks(found)) <= 6
    assert found.marks[0].low < 10  # points need not begin at zero


def test_too_few_or_too_many_rows_have_no_chart():
    assert charts(chart_of(Value(1, 0, 2))) == []
    assert charts(chart_of(Value(1, 0, 2), None)) == []
    assert charts(chart_of(*[Value(1, 0, 2)] * (MOST_MARKS + 1))) == []


def test_equal_values_and_long_labels():
    [found] = charts(chart_of(Value(0, 0, 0), Value(0, 0, 0), labels=("x" * 100, "y")))
    assert len(found.marks[0].label) == 48
