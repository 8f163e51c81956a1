"""Charts: bars with the intervals that their values lie in."""

import pytest

from dpproxy.notebook.chart import Bars, of_altair, of_matplotlib

BARS = Bars("n", ["a", "b"], [100.0, 7.0], [(90.0, 110.0), None])


def test_bars_of_matplotlib_have_error_bars_where_something_is_proved():
    chart = of_matplotlib(BARS)
    assert [bar.get_width() for bar in chart.axes.patches] == [100.0, 7.0]
    errors = next(one for one in chart.axes.containers if hasattr(one, "lines")).lines[2][0].get_segments()
    assert [(left[0], right[0]) for left, right in errors] == [(90.0, 110.0), (7.0, 7.0)]
    assert chart.axes.get_xlabel() == "n, with its intervals"
    assert chart._repr_png_().startswith(b"\x89PNG")


def test_bars_of_altair_know_their_intervals():
    pytest.importorskip("altair")
    drawn = of_altair(BARS).to_dict()
    assert [layer["mark"]["type"] for layer in drawn["layer"]] == ["bar", "rule"]
    assert drawn["data"]["values"] == [
        {"label": "a", "value": 100.0, "low": 90.0, "high": 110.0},
        {"label": "b", "value": 7.0, "low": None, "high": None},
    ]
