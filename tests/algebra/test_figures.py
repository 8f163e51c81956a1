from operator import add

import pytest

from dpproxy.algebra.figures import Figure, Settled, is_open, later

ONE = Figure(float)


def test_what_is_known_is_made_at_once():
    assert later(add, 1, 2) == 3
    assert later(max, (1, 2)) == 2


def test_what_follows_from_a_figure_is_one():
    found = later(add, later(max, ONE, 1.0), 2.0)
    assert is_open(found)
    assert is_open((1, (found,)))
    assert not is_open((1, (2,)))
    assert Settled(lambda _: 5.0).of(found) == 7.0


def test_arithmetic_makes_figures():
    settled = Settled(lambda _: 8.0)
    for made, expected in [
        (ONE + 1, 9),
        (1 + ONE, 9),
        (ONE * 2, 16),
        (2 * ONE, 16),
        (ONE / 2, 4),
        (ONE + ONE, 16),
    ]:
        assert isinstance(made, Figure)
        assert settled.of(made) == expected


def test_what_is_read_of_a_figure_is_one():
    settled = Settled(lambda _: ["b", "a"])
    assert settled.of(ONE[1]) == "a"
    assert settled.of(ONE.index("a") + 1) == 2
    assert ONE.index == ONE.index != ONE.count


def test_nothing_is_decided_by_a_figure():
    with pytest.raises(TypeError, match="decides nothing"):
        assert ONE
    with pytest.raises(TypeError):
        [*ONE]  # noqa: B018 - it is not there
    with pytest.raises(TypeError):
        assert ONE > 1  # type: ignore[operator]
    with pytest.raises(TypeError):
        float(ONE)  # type: ignore[arg-type]


def test_figures_that_are_made_alike_are_equal():
    assert later(add, ONE, 1) == later(add, ONE, 1)
    assert later(add, ONE, 1) != later(add, ONE, 2)
    assert len({later(add, ONE, [1]), later(add, ONE, [1])}) == 1


def test_each_figure_is_made_once():
    made = []
    figure = later(lambda value: made.append(value) or len(made), ONE)
    settled = Settled(lambda _: 1.0)
    assert settled.of((figure, figure, 3)) == (1, 1, 3)
    assert made == [1.0]
