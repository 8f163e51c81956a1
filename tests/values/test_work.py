"""The work of planning: counted, limited, given up."""

import threading
from contextlib import suppress

import pytest

from dpproxy.values import work
from dpproxy.values.errors import Cancelled, Refusal, TooComplex, Unsupported
from dpproxy.values.work import MOST, OFTEN, begin, cancelled_by, limited, step


def plan(*steps: int, at: int | None = None) -> None:
    with limited():
        for count in steps:
            step(count, at)


def test_outside_planning_nothing_is_counted():
    with cancelled_by(lambda: True):
        step(MOST + 1)


def test_a_plan_has_a_limit_of_steps():
    plan(MOST)
    with pytest.raises(TooComplex) as caught:
        plan(MOST, OFTEN, at=7)
    assert (caught.value.sqlstate, caught.value.position, caught.value.hint) == ("54001", 7, work.HINT)


def test_another_plan_of_the_statement_is_counted_anew():
    with limited():
        step(MOST)
        begin()
        step(MOST)
    begin()


def test_several_plans_share_a_limit():
    def planned(most: int, longest: float) -> None:
        with limited(most, longest), limited():
            step(2 * OFTEN)
            begin()  # counts its own steps anew, and no others
            step(2 * OFTEN)

    planned(4 * OFTEN, 10.0)
    with pytest.raises(TooComplex, match="work"):
        planned(3 * OFTEN, 10.0)
    with pytest.raises(TooComplex, match="longer"):
        planned(4 * OFTEN, -1.0)


def test_a_cancel_is_seen_soon():
    def planned(cancelled: threading.Event) -> None:
        with cancelled_by(cancelled.is_set), limited():
            step(OFTEN)
            cancelled.set()
            step(OFTEN - 1)
            seen.append("not yet")
            step()
            seen.append("not at all")

    seen: list[str] = []
    with pytest.raises(Cancelled):
        planned(threading.Event())
    assert seen == ["not yet"]
    with cancelled_by(lambda: False):
        plan(OFTEN)


def test_planning_has_a_limit_of_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(work, "LONGEST", -1.0)
    with pytest.raises(TooComplex, match="longer"):
        plan(OFTEN)


@pytest.mark.parametrize("after", [None, Unsupported("not listed")])
def test_whoever_takes_the_end_for_another_refusal_does_not_go_on(after: Refusal | None):
    def planned() -> None:
        with limited():
            with suppress(TooComplex):
                step(MOST + 1)
            if after is not None:
                raise after

    with pytest.raises(TooComplex):
        planned()


def test_other_refusals_stay_what_they_are():
    def planned() -> None:
        with limited():
            raise Unsupported("not listed")

    with pytest.raises(Unsupported):
        planned()
