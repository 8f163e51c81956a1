"""The pictures of VERIFY PROTECTED VIEW."""

from dpproxy.views.verify import FIGURES as MEASURES
from dpproxy.web.figures import FIGURES, LOSS, RISK, pictures

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
