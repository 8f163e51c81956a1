"""The values of anonymisation: what a column may hold, what is asked, and what a method builds."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import ClassVar, Final, Protocol

import numpy as np
import numpy.typing as npt

from udfs.privacy import Loss
from udfs.randomness import Words

Table = npt.NDArray[np.int64]
"""Shape (rows, attributes): lattice steps of an ``Interval``, places in ``Categories`` or in a ``Taxonomy``."""

LEAST_CLUSTER: Final = 2
"""The least k."""


class InvalidOption(ValueError):
    """An option of a view that is missing, unknown or outside its range: raised before a row is read.

    Attributes:
        option: its name, "" where it is about the view's columns.
        hint: what to write instead, None where nothing is known.
    """

    def __init__(self, option: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.option = option
        self.hint = hint


class Unachievable(ValueError):
    """A syntactic method cannot give what was asked on these rows; the message names no value of a row."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Numbers, dates and times: ``low`` to ``high`` in whole lattice steps, declared."""

    low: int
    high: int

    @property
    def width(self) -> int:
        """Steps from end to end."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class Categories:
    """``size`` declared values, by place; ``ordered`` where the declared order means something."""

    size: int
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """Concepts by place; ``parents`` holds the place of each one's parents, none for the root.

    Any concept may be the value of a row and may be released.
    """

    parents: tuple[tuple[int, ...], ...]


Domain = Interval | Categories | Taxonomy


class Role(Enum):
    """What an intruder knows of a column."""

    QUASI = "quasi"
    SENSITIVE = "sensitive"
    BOTH = "both"
    """The default: informed intruders may know every column."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column of the view."""

    name: str
    domain: Domain
    role: Role = Role.BOTH


OptionValue = int | Fraction | str | tuple[str, ...] | tuple[Fraction, ...]
"""``k = 25`` is an int, ``epsilon = 1.5`` a Fraction, words and 'texts' are str, lists in parentheses tuples."""


@dataclass(frozen=True, slots=True)
class Request:
    """What an administrator asked for: everything in it is public.

    Attributes:
        options: by lower-case name, without ``method``, ``quasi``, ``sensitive``, ``charge``.
        expected_rows: the declared hint; never in a sensitivity.
    """

    attributes: tuple[Attribute, ...]
    options: Mapping[str, OptionValue]
    expected_rows: int | None = None


Progress = Callable[[float], None]
"""Told the share of the work that is done, 0 to 1; may raise to stop the build."""


def silent(_: float) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Anonymized:
    """What a method made.

    Attributes:
        rows: shape (rows released, attributes), values by the attributes' domains.
        linked: further relations by suffix (Anatomy's buckets), each each with its column names.
        inside: True where the rows must stay inside (``release = query``) and only charged questions may read them.
        source: the original row of each released row, where the method keeps that; None otherwise. For measures only.
        achieved: what the data decided (t, smallest class): for those with exact grants only.
    """

    rows: Table = field(repr=False)
    linked: Mapping[str, "Linked"] = field(default_factory=dict, repr=False)
    inside: bool = False
    source: npt.NDArray[np.int64] | None = field(default=None, repr=False)
    achieved: Mapping[str, float] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Linked:
    """A relation beside the rows: ``columns`` name those of ``values``, shape (rows, columns).

    A column named like an attribute holds values of that attribute's domain, and so does a column that ``like``
    gives an attribute's name (the ends of a bucket); any other holds plain integers.
    """

    columns: tuple[str, ...]
    values: Table = field(repr=False)
    like: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Build:
    """A request that was checked: what it promises and costs, known before a row is read.

    Attributes:
        guarantee: in words, for people.
        loss: of all that is drawn, the noisy number of rows included; None for syntactic methods.
        delta: what it costs besides.
        columns: names of the released columns of ``rows``, in order: the attributes' that ``rows`` keeps, and any
            the method adds (a group number) after them.
        make: builds it; raises ``Unachievable``.
    """

    guarantee: str
    loss: Loss | None
    make: Callable[[Table, Words, Progress], Anonymized] = field(repr=False)
    delta: Fraction = Fraction(0)
    columns: tuple[str, ...] = ()
    k: int = 0
    """The least rows of a cluster, where the rows stay inside: they bound what one unit moves an order statistic by."""


class Method(Protocol):
    """One method; ``METHODS`` is the table of them."""

    name: ClassVar[str]
    options: ClassVar[Mapping[str, str]]
    """The options it takes, each with a line of help."""
    private: ClassVar[bool]
    """True for differential privacy; False for the k-anonymity family."""

    def check(self, request: Request) -> Build:
        """Validate and price; raises ``InvalidOption``. Reads no row."""
        ...


WORDS: Words = os.urandom
"""The source of randomness where none is given."""
