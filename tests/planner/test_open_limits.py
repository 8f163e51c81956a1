import pytest

from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed
from dpproxy.errors import TooComplex
from dpproxy.pgtypes import INT8, TEXT
from dpproxy.planner.open_limits import LARGEST_ANSWER, MOST_JOINED, check_answer, check_join, width

NUMBER = Typed(duck.column("n"), INT8)
WORD = Typed(duck.column("w"), TEXT, longest=92)


def test_a_text_counts_with_its_longest():
    assert width([NUMBER, WORD]) == 32 + 100


def test_an_answer_has_an_end():
    check_answer(LARGEST_ANSWER // 132, [NUMBER, WORD], None)
    with pytest.raises(TooComplex, match="more than 64000000 characters"):
        check_answer(LARGEST_ANSWER // 132 + 1, [NUMBER, WORD], 7)


def test_a_join_is_no_larger_than_a_limit_or_its_largest_side():
    check_join(MOST_JOINED, (5, 5), None)
    check_join(3 * MOST_JOINED, (5, 3 * MOST_JOINED), None)
    with pytest.raises(TooComplex) as error:
        check_join(MOST_JOINED + 1, (5, 5), 7)
    assert error.value.position == 7
