import pytest

from dpproxy.session.work import LongCall, Steps, outcome, work


def test_work_returns_what_is_sent_and_raises_what_is_thrown():
    steps = work(lambda: 1, charged=True)
    asked = next(steps)
    assert isinstance(asked, LongCall)
    assert (asked.call(), asked.charged) == (1, True)
    with pytest.raises(StopIteration) as stopped:
        steps.send(2)
    assert stopped.value.value == 2

    def guarded() -> Steps[str]:
        try:
            yield from work(lambda: None)
        except ValueError:
            return "caught"
        return "not thrown"

    steps = guarded()
    next(steps)
    with pytest.raises(StopIteration) as stopped:
        steps.throw(ValueError())
    assert stopped.value.value == "caught"


def test_an_outcome_is_a_value_or_what_was_raised():
    assert outcome(lambda: 3) == (3, None)
    value, error = outcome(lambda: 1 // 0)
    assert value is None
    assert isinstance(error, ZeroDivisionError)
