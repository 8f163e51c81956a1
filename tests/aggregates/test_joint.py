"""What the bounds of variances, lines and correlations rest on: the identities, in exact arithmetic."""

import math
import random
from fractions import Fraction as Q
from math import sqrt

import pytest

from dpproxy.aggregates.joint import COUNT, XY, Ball, Law, X
from dpproxy.analysis import duck
from tests.aggregates.conftest import evaluate
from udfs.mechanisms.averaged import Draw
from udfs.mechanisms.laplace import Laplace

NAMES = ("n", "x", "y", "xx", "xy", "yy")
Sums = dict[str, Q]


@pytest.fixture(params=range(20))
def sums(request: pytest.FixtureRequest) -> tuple[Sums, Sums]:
    """Before noise, and released."""
    source = random.Random(request.param)
    rows = [(source.randint(-9, 9), source.randint(-9, 9)) for _ in range(30)]
    exact = dict(
        zip(
            NAMES,
            map(
                Q,
                (
                    len(rows),
                    sum(u for u, _ in rows),
                    sum(v for _, v in rows),
                    sum(u * u for u, _ in rows),
                    sum(u * v for u, v in rows),
                    sum(v * v for _, v in rows),
                ),
            ),
            strict=True,
        )
    )
    return exact, {name: s + source.randint(-5, 5) for name, s in exact.items()}


class Line:
    """What sums say: means, variances, the covariance and both slopes."""

    def __init__(self, of: Sums) -> None:
        self.n, self.x, self.y = of["n"], of["x"] / of["n"], of["y"] / of["n"]
        self.v, self.w = of["xx"] / self.n - self.x**2, of["yy"] / self.n - self.y**2
        self.c = of["xy"] / self.n - self.x * self.y
        self.b, self.h = self.c / self.v, self.c / self.w


def test_a_slope_and_an_intercept_are_off_by_what_is_said(sums: tuple[Sums, Sums]):
    exact, released = sums
    one, two = Line(exact), Line(released)
    e = {name: released[name] - exact[name] for name in NAMES}
    dx, x, y, b = two.x - one.x, one.x, one.y, one.b
    level = y - b * x
    left = e["y"] - level * e["n"] - b * e["x"]
    turned = e["xy"] - level * e["x"] - b * e["xx"] - x * left
    assert left == two.n * (two.y - y - b * dx)
    assert two.n * two.v * (two.b - b) == turned - dx * left
    for place in (Q(0), Q(7)):
        k = place + x
        o = k**2 / (k**2 + one.v)
        main = one.v * left - k * turned
        more = (two.v - one.v + dx**2) * left + dx * (o * k * left - (1 - o) * turned)
        off = (1 + k * dx / (k**2 + one.v)) * main + more
        assert two.n * two.v * ((two.y - two.b * (place + two.x)) - (y - b * k)) == off
        assert k + k * k * dx / (k**2 + one.v) == place + two.x - (1 - o) * dx
        assert one.v * (1 + k * dx / (k**2 + one.v)) == one.v + (1 - o) * k * dx


def test_a_correlation_is_off_by_what_is_said(sums: tuple[Sums, Sums]):
    exact, released = sums
    one, two = Line(exact), Line(released)
    e = {name: float(released[name] - exact[name]) for name in NAMES}
    n, dx, dy, x, y = map(float, (two.n, two.x - one.x, two.y - one.y, one.x, one.y))
    crossed = e["xy"] - x * e["y"] - y * e["x"] + x * y * e["n"]
    squares = [e[2 * s] - 2 * mean * e[s] + mean**2 * e["n"] for s, mean in (("x", x), ("y", y))]
    spread, before = sqrt(two.v * two.w), float(one.c) / sqrt(one.v * one.w)
    steep, steeper = sqrt(two.w / two.v), sqrt(one.w / one.v)
    t = math.log(steeper / steep)
    both, apart = ((squares[0] * steep + sign * squares[1] / steep) / 2 for sign in (1, -1))
    bent = [steeper * dx**2 + sign * dy**2 / steeper for sign in (1, -1)]
    said = apart + math.tanh(t) * both - n * bent[1] / (2 * math.cosh(t))
    assert n * spread * math.tanh(t) == pytest.approx(said)
    said = (
        crossed
        - before * (math.cosh(t) * both + math.sinh(t) * apart)
        - n * dx * dy
        + n * before * bent[0] / 2
    )
    assert n * (float(two.c) - before * spread * math.cosh(t)) == pytest.approx(said)


def test_balls_hold_what_is_made_of_numbers_in_them():
    source = random.Random(3)
    for _ in range(50):
        values = [source.uniform(-5, 5), source.uniform(2, 5)]
        offs = [source.uniform(0, 1), source.uniform(0, 1)]
        a, b = (Ball(duck.double(v), duck.double(o)) for v, o in zip(values, offs, strict=True))
        p, q = (v + o * source.choice([-1, 1, 0.5]) for v, o in zip(values, offs, strict=True))
        made = {
            "+": (a.plus(b), p + q),
            "-": (a.minus(b), p - q),
            "*": (a.times(b), p * q),
        }
        for ball, before in made.values():
            value, off, size = evaluate([ball.value, ball.off, ball.size], {"m0": 1})
            assert abs(value - before) <= off + 1e-12
            assert abs(before) <= size + 1e-12


@pytest.mark.statistical
def test_a_product_of_two_sums_is_within_its_bound():
    """At least half of the draws by far: of 4,000, 20 may pass, and 60 or more do so once in 10**12 times."""
    mechanism = Laplace.best((3, 500, 40), 10**8)
    law = Law({name: Draw(mechanism, n) for n, name in enumerate((COUNT, X, XY))}, Q(19, 20), Q(399, 400))
    one, other = {X: 1.0, COUNT: 100.0}, {XY: 20.0, COUNT: 50.0, X: 0.3}
    [bound] = evaluate([law.product(one, other)], {"m0": 1})
    [swapped] = evaluate([law.product(other, one)], {"m0": 1})
    noise = mechanism.draw(4000)
    sums = [
        sum(w * noise[:, n] for n, name in enumerate(law.draws) if (w := of.get(name))) for of in (one, other)
    ]
    assert (abs(sums[0] * sums[1]) > bound).sum() < 60
    apart = [law.norm(law.far, of).reach([*of.values()]) for of in (one, other)]
    assert bound == pytest.approx(swapped)
    assert bound < apart[0] * apart[1]
