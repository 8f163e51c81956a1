"""Protected views: seconds to build a table of random numbers, beside the plain numpy form where there is one."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction

import numpy as np

from dpproxy.anonymize.methods import METHODS
from dpproxy.anonymize.model import Attribute, LatticeDomain, OptionValue, Role, Table, ViewRequest, silent
from dpproxy.anonymize.space import space
from tests.anonymize import plain
from tests.bench.report import number

WIDTH = 100_000
COLUMNS = 4


@dataclass(frozen=True, slots=True)
class Work:
    """A build of ``rows`` rows of four columns; ``target`` is the seconds allowed, if any."""

    method: str
    rows: int
    options: Mapping[str, OptionValue]
    target: float | None = None
    sensitive: int = 0
    """So many of the columns, the last ones, are sensitive; otherwise all are both."""
    plain: Callable[[Table, tuple[Attribute, ...]], object] | None = None
    small: int = 1000
    """Rows of a quick run."""
    attributes: tuple[Attribute, ...] = field(init=False)

    def __post_init__(self) -> None:
        known = Role.QUASI if self.sensitive else Role.BOTH
        roles = [known] * (COLUMNS - self.sensitive) + [Role.SENSITIVE] * self.sensitive
        object.__setattr__(
            self,
            "attributes",
            tuple(Attribute(f"c{place}", LatticeDomain(0, WIDTH), role) for place, role in enumerate(roles)),
        )


def plain_mdav(rows: Table, attributes: tuple[Attribute, ...]) -> object:
    return plain.mdav(space(rows, attributes), 10)


WORKS = (
    Work("mdav", 30_162, {"k": 10}, 2.0, plain=plain_mdav),
    Work("mdav", 100_000, {"k": 10}, 15.0),
    Work("mdav_swap", 30_162, {"k": 10}, sensitive=2),
    Work("ir_swap", 1_000_000, {"k": 10}),
    Work("t_closeness", 30_162, {"t": Fraction(2)}, sensitive=1),
    Work("dp_microaggregation", 1_000_000, {"epsilon": 1}, 2.0),
    Work("dp_microaggregation", 1_000_000, {"epsilon": 1, "reference": "corners"}, 8.0),
    Work("dp_individual_ranking", 1_000_000, {"epsilon": 1, "joint": "none"}),
    Work("dp_kdtree", 1_000_000, {"epsilon": 1}, 3.0),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of processor time; None where there is no plain form or no target."""

    what: str
    seconds: float
    plain: float | None
    target: float | None

    @property
    def met(self) -> bool:
        return self.target is None or self.seconds <= self.target


def measure(*, small: bool) -> Iterator[Measured]:
    """Every line of the section; what is compiled is compiled before."""
    for work in WORKS:
        build = METHODS[work.method].check(ViewRequest(work.attributes, work.options))
        count = work.small if small else work.rows
        rows = np.random.default_rng(1).integers(0, WIDTH + 1, (count, COLUMNS))
        build.make(rows[: work.small], os.urandom, silent)
        seconds = processor(lambda build=build, rows=rows: build.make(rows, os.urandom, silent))
        beside = None
        if work.plain is not None:
            beside = processor(lambda work=work, rows=rows: work.plain(rows, work.attributes))
        yield Measured(f"{work.method}, {count:,} x {COLUMNS} rows", seconds, beside, work.target)


def processor(call: Callable[[], object]) -> float:
    """Seconds of processor time: what else runs on the machine does not count."""
    begun = time.process_time()
    call()
    return time.process_time() - begun


def rows(measured: Sequence[Measured]) -> list[list[str]]:
    """Cells of a table, its head first."""
    return [
        ["", "build", "plain numpy", "target"],
        *(
            [
                m.what,
                f"{number(m.seconds)} s",
                "" if m.plain is None else f"{number(m.plain)} s",
                "" if m.target is None else f"<= {m.target:g} s" + ("" if m.met else ", missed"),
            ]
            for m in measured
        ),
    ]


def as_json(measured: Sequence[Measured]) -> list[dict[str, object]]:
    """For a file that later runs are compared with."""
    return [asdict(m) for m in measured]
