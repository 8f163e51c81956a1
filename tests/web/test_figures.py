"""The pictures of VERIFY PROTECTED VIEW."""

from dpproxy.views.verify import FIGURES as MEASURES
from dpproxy.web.figures import FIGURES, LOSS, RISK, errors, pictures

NOTHING = dict.fromkeys(MEASURES)


def test_each_figure_is_a_picture_with_a_bar_for_each_view():
    risk, loss, mean = pictures([
        {"view": "a", **NOTHING, "linkage_risk": "12.34", "mean_change": "0.5", "information_loss": "0"},
        {"view": "b", **NOTHING, "mean_change": "2"},
    ])  # fmt: skip
    assert (risk.group, [(bar.view, bar.text, bar.width) for bar in risk.bars]) == (
        RISK,
        [("a", "12.3 %", 12.34)],
    )
    assert (loss.group, loss.bars[0].width) == (LOSS, 0)
    assert [(bar.view, bar.text, bar.width) for bar in mean.bars] == [("a", "50 %", 25), ("b", "200 %", 100)]


def test_what_is_not_shown_is_no_picture():
    assert pictures([{"view": "a", **NOTHING}]) == []


def test_every_figure_is_a_column_of_the_statement():
    assert set(FIGURES) | {"sse", "matched_sse"} == set(MEASURES)


def test_the_errors_of_a_cube_are_a_picture_for_each_measure():
    count, _ = errors("c", [
        {"sex_cells": "2", "year_cells": "10", "count_sd": "40.5", "sum_cost_sd": "1000"},
        {"sex_cells": "1", "year_cells": "1", "count_sd": "9.001", "sum_cost_sd": "500"},
    ])  # fmt: skip
    assert (count.group, count.words) == (
        "how far off answers from c are",
        "count, one standard deviation",
    )
    assert [(bar.view, bar.text, bar.width) for bar in count.bars] == [
        ("one cell", "± 9", 22.22),
        ("2 of sex by 10 of year added up", "± 40.5", 100),
    ]
    assert errors("c", []) == []


def test_the_error_of_a_cell_is_always_there():
    marginals = [{"day_cells": str(n), "count_sd": str(100 - n)} for n in range(1, 30)]
    [count] = errors("c", marginals)
    assert [bar.view for bar in count.bars][-2:] == ["22 of day added up", "one cell"]
    assert count.bars[-1].width == 100
