"""An answer as a table, a frame and a chart: each value with its error."""

from decimal import Decimal

import pytest

from dpproxy.notebook.answer import MOST_SHOWN, Answer

ANSWER = Answer(
    "SELECT ...",
    ("sex", "n", "m", "n_ci_low", "n_ci_high", "m_ci_low", "m_ci_high"),
    (("<f>", 100, Decimal("2.5"), 90.0, 110.0, None, None), ("m", None, None, None, None, None, None)),
    0.1,
    {"b": 1.9, "free": None},
    ("cost <0.1>",),
)


def test_columns_are_told_apart():
    assert (ANSWER.keys, ANSWER.measures) == (["sex"], ["n", "m"])
    assert ANSWER.half_width == {"n": 10.0, "m": None}
    assert str(ANSWER) == "cost 0.1 epsilon; 1.9 left of b; at most n ±10"


def test_a_table_has_errors_beside_values_and_no_markup_of_a_value():
    html = ANSWER._repr_html_()
    assert "<td>100 ±10</td><td>2.5</td>" in html
    assert "n_ci_low" not in html
    assert "&lt;f&gt;" in html
    assert "&lt;0.1&gt;" in html
    many = Answer("", ("a",), tuple((i,) for i in range(MOST_SHOWN + 5)), 0.0, {})
    assert "5 more rows" in many._repr_html_()


def test_a_frame_has_the_ends_of_intervals():
    frame = ANSWER.frame
    assert list(frame.columns) == list(ANSWER.columns)
    assert (frame["n"][0], frame["m"][0], frame["n_ci_high"][0]) == (100, 2.5, 110.0)


def test_without_pandas_it_is_one_of_polars(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    assert type(ANSWER.frame).__module__.startswith("polars")


def test_a_chart_has_error_bars():
    chart = ANSWER.plot()
    assert [bar.get_width() for bar in chart.axes.patches] == [100.0]
    ((left, _), (right, _)) = (
        next(one for one in chart.axes.containers if hasattr(one, "lines")).lines[2][0].get_segments()[0]
    )
    assert (left, right) == (90.0, 110.0)
    assert chart._repr_png_().startswith(b"\x89PNG")
    assert ANSWER.plot("m", chart.axes).axes is chart.axes


def test_altair_draws_where_it_is_asked_to_or_alone(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("altair")
    drawn = ANSWER.plot(library="altair").to_dict()
    assert [one["label"] for one in drawn["data"]["values"]] == ["<f>"]
    monkeypatch.setattr("dpproxy.notebook.answer.find_spec", lambda name: None if name == "matplotlib" else 1)
    assert "layer" in ANSWER.plot().to_dict()
    with pytest.raises(ValueError, match="one of matplotlib, altair"):
        ANSWER.plot(library="seaborn")


def test_what_has_no_noisy_column_has_no_chart():
    with pytest.raises(ValueError, match="there are: n, m"):
        ANSWER.plot("sex")
