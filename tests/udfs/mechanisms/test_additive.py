"""A mechanism that is a class and a line in ``MECHANISMS`` is drawn, compared, asked for, stored and found again."""

import os
from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

import duckdb
import pyarrow as pa
import pytest
from msgspec import Struct

import udfs
from dpproxy.algebra.plan import Plan, Summed
from dpproxy.assurance.audit import _every
from dpproxy.backends.release import ReleaseStage
from dpproxy.engine.questions import noise_ratio
from dpproxy.planner.explain import explain_text
from dpproxy.planner.reuse.descriptor import Descriptor, read, written
from tests.golden.world import World, build, plan_of
from tests.planner.wordings import HEADER
from udfs.choose import candidates
from udfs.mechanisms import MECHANISMS, Laplace
from udfs.privacy import LEAST_NANO, Exact, Loss
from udfs.randomness import Integers, Words

NAME = "cautious"
GROUPED = "SELECT k, count(*), sum(x) FROM t GROUP BY k"


class Cautious(Struct, frozen=True):
    """Laplace noise at a part of the epsilon that it costs."""

    FUNCTION: ClassVar = "dp_cautious"
    NOISE: ClassVar = "more Laplace noise"
    CONCENTRATED: ClassVar = False
    COMPARED: ClassVar = True
    DRAWN: ClassVar[list[int]] = []

    widths: tuple[int, ...]
    nano: int
    part: int = 2

    @staticmethod
    def best(widths: tuple[int, ...], nano: int) -> "Cautious":
        return Cautious(widths, nano)

    @property
    def _laplace(self) -> Laplace:
        return Laplace.best(self.widths, max(self.nano // self.part, LEAST_NANO))

    @property
    def loss(self) -> Loss:
        return Loss(self.nano)

    def noise_sd(self) -> tuple[float, ...]:
        return self._laplace.noise_sd()

    def half_width(self, confidence: Fraction | float) -> tuple[int, ...]:
        return self._laplace.half_width(confidence)

    def draw(self, count: int, words: Words = os.urandom) -> Integers:
        self.DRAWN.append(count)
        return self._laplace.draw(count, words)


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(MECHANISMS, NAME, Cautious)
    Cautious.DRAWN.clear()
    candidates.cache_clear()
    yield
    candidates.cache_clear()


@pytest.fixture(scope="module")
def world() -> World:
    return build(HEADER)


def planned(world: World) -> Plan:
    return plan_of(world, GROUPED, {"dp.mechanism": NAME})


def test_it_is_a_function_of_sql():
    with duckdb.connect() as connection:
        udfs.register(connection)
        about = connection.execute("SELECT description FROM dp_functions() WHERE function = 'dp_cautious'")
        assert [
            words
            for (words,) in about.fetchall()
            if not words.startswith(("a number with", "the numbers with"))
        ] == []
        [(one, several)] = connection.execute(
            "SELECT dp_cautious(8, 1, 1), dp_cautious([8, 8], [1, 1], 1)"
        ).fetchall()
    assert (type(one), len(several), len(Cautious.DRAWN) > 0) == (int, 2, True)


def test_it_is_asked_for_by_name(world: World):
    [part] = planned(world).parts
    assert isinstance(part.mechanism, Cautious)
    assert part.noise == f"{NAME} widths={part.mechanism.widths} part=2 nano={part.mechanism.nano}"
    assert (part.why, "dp_cautious(" in part.release) == (f"dp.mechanism = {NAME}", True)
    assert f"joint {NAME}, 2 measures" in "\n".join(explain_text(planned(world), Fraction(19, 20)))


def test_it_is_compared_with_the_others(world: World):
    [part] = plan_of(world, GROUPED).parts
    assert f"{NAME} " in part.why
    assert not isinstance(part.mechanism, Cautious)


def test_it_is_drawn(world: World):
    stage, [part] = ReleaseStage(), planned(world).parts
    names = ("k0", pa.string()), *((f"m{i}", pa.decimal128(38, 0)) for i in range(part.measures))
    nobody = pa.table({name: pa.array([], kind) for name, kind in names})
    try:
        drawn = stage.draw(part, Exact(nobody)).value
    finally:
        stage.close()
    assert (len(drawn), len(Cautious.DRAWN) > 0) == (part.groups, True)


def test_its_release_is_found_again(world: World):
    [part] = planned(world).parts
    assert part.mechanism is not None
    stored = Descriptor(b"rows", (), (), (), (), part.mechanism)
    assert read(written(stored)) == stored
    assert noise_ratio(Summed(part.mechanism, (0, 1), (1, 1), (0, 0)), part.mechanism) == 1


def test_it_is_audited():
    assert [question for question in _every(["SELECT 1"]) if question.mechanism == NAME]
