from fractions import Fraction

from dpproxy.policy.model import ProtectedView
from dpproxy.views.manifest import Built
from dpproxy.views.verify import COLUMNS, asked, notices, verified

VIEW = ProtectedView(
    "v", (("charge", "lab"), ("k", 5), ("method", "mdav"), ("reason", "why")), "SELECT a FROM t"
)
FIGURES = {"achieved k": 6.0, "matched_information_loss": 0.25, "linkage": 20.0}
BUILD = Built(
    "v", 2, "", "mdav", True, False, 0, "words", 1, Fraction(0), 3, "t", ("t",), "", "", "d", "", "root", 10, {}, FIGURES  # noqa: E501, FBT003
)  # fmt: skip


def row(*, exact: bool) -> dict[str, object]:
    return dict(zip((c.name for c in COLUMNS), verified(VIEW, BUILD, exact=exact), strict=True))


def test_what_needs_the_original_rows_is_null_without_the_right_to_see_them():
    found = row(exact=False)
    assert (found["guarantee"], found["asked"]) == ("words", "mdav: k = 5")
    assert all(
        value is None for name, value in found.items() if name not in {"view", "guarantee", "asked", "epoch"}
    )
    assert notices(["v"])[0].hint
    assert notices([]) == ()


def test_figures_by_the_measure_there_is():
    found = row(exact=True)
    assert (found["achieved"], found["information_loss"], found["linkage_risk"]) == ("k = 6", 0.25, 20.0)
    assert found["sse"] is None


def test_what_was_asked_is_written_as_it_was():
    assert asked(ProtectedView("v", (("method", "x"),), "q")) == "x"
