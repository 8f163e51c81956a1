"""The types of anonymisation: domains, attributes, requests, and the releases that methods build."""

import os
from collections.abc import Callable, Mapping
from enum import Enum
from fractions import Fraction
from typing import ClassVar, Final, Protocol

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from dpproxy.values.structs import PartlyShown
from udfs.privacy import Loss
from udfs.randomness import Words

Table = npt.NDArray[np.int64]
"""Shape (rows, attributes): steps of a ``LatticeDomain``, indices into ``Categories`` or a ``ConceptGraph``."""

LEAST_CLUSTER: Final = 2
"""The least k."""


class InvalidOption(ValueError):
    """An option of a view that is missing, unknown or outside its range: raised before a row is read.

    Attributes:
        option: the option's name; "" if the error is about the view's columns.
        hint: what to write instead, or None.
    """

    def __init__(self, option: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.option = option
        self.hint = hint


class Unachievable(ValueError):
    """A syntactic method cannot meet its request on these rows; the message contains no value of a row."""


class LatticeDomain(Struct, frozen=True):
    """The declared domain of a number, date or time: ``low`` to ``high`` in whole lattice steps, both included."""

    low: int
    high: int

    @property
    def width(self) -> int:
        """Steps from end to end."""
        return self.high - self.low


class Categories(Struct, frozen=True):
    """``size`` declared values, by index; ``ordered`` where their order is meaningful."""

    size: int
    ordered: bool = False


class ConceptGraph(Struct, frozen=True):
    """Concepts by index; ``parents`` has for each concept the indices of its parents, none for a root.

    Any concept may be the value of a row and may be released.
    """

    parents: tuple[tuple[int, ...], ...]


Domain = LatticeDomain | Categories | ConceptGraph


class Role(Enum):
    """Whether intruders may know a column (QUASI: a quasi-identifier), want to learn it (SENSITIVE), or both."""

    QUASI = "quasi"
    SENSITIVE = "sensitive"
    BOTH = "both"
    """The default: informed intruders may know every column."""


class Attribute(Struct, frozen=True):
    """A column of the view."""

    name: str
    domain: Domain
    role: Role = Role.BOTH
    null: bool = False
    """Whether an ``LatticeDomain`` may be NULL: the number after ``high``, for methods whose ``ViewBuild`` takes it."""


class Together(Struct, frozen=True):
    """Attributes, by their places, that have no other values together than a row of ``values``: declared and public."""

    places: tuple[int, ...]
    values: tuple[tuple[int, ...], ...]


OptionValue = int | Fraction | str | tuple[str, ...] | tuple[Fraction, ...]
"""``k = 25`` is an int, ``epsilon = 1.5`` a Fraction, a word or 'text' a str, a list in parentheses a tuple."""


class ViewRequest(Struct, frozen=True):
    """The options of ``WITH (...)`` and the columns of a view, as an administrator wrote them: all of it is public.

    Attributes:
        options: by lower-case name, without ``method``, ``quasi``, ``sensitive``, ``charge``.
        expected_rows: about how many rows there are, as declared; no sensitivity depends on it.
        together: which combinations of values are possible, where that is declared.
    """

    attributes: tuple[Attribute, ...]
    options: Mapping[str, OptionValue]
    expected_rows: int | None = None
    together: tuple[Together, ...] = ()


Progress = Callable[[float], None]
"""Called with the share of the work that is done, 0 to 1; may raise an exception to stop the build."""


def silent(_: float) -> None:
    """Ignore progress."""


class Anonymized(PartlyShown, Struct, frozen=True):
    """The result of a method.

    Attributes:
        rows: shape (rows released, columns): values in the attributes' domains; columns as in ``ViewBuild.columns``.
        linked: further relations by suffix of their name (Anatomy's buckets), each with its column names.
        inside: True where the rows must not be released (``release = query``): only charged queries may read them.
        source: the original row of each released row, or None if the method does not record it. For measures only.
        achieved: figures that depend on the rows (t, the smallest class): for users with exact grants only.
    """

    HIDDEN = frozenset({"rows", "linked", "source", "achieved"})

    rows: Table
    linked: Mapping[str, "Linked"] = field(default_factory=dict)
    inside: bool = False
    source: npt.NDArray[np.int64] | None = None
    achieved: Mapping[str, float] = field(default_factory=dict)


class Linked(PartlyShown, Struct, frozen=True):
    """A relation that is released with the rows; ``columns`` are the names of the columns of ``values``.

    ``values`` has shape (rows, columns). A column with the name of an attribute has values of that attribute's domain,
    and so has a column that ``like`` maps to an attribute's name (the ends of a bucket); any other has plain integers.
    """

    HIDDEN = frozenset({"values"})

    columns: tuple[str, ...]
    values: Table
    like: Mapping[str, str] = field(default_factory=dict)


Make = Callable[[Table, Words, Progress], Anonymized]
"""Builds a release of rows; raises ``Unachievable``."""


class ViewBuild(PartlyShown, Struct, frozen=True):
    """A valid request, with its guarantee and price, both known before a row is read.

    Attributes:
        guarantee: the guarantee in words.
        loss: the epsilon of everything drawn, the noisy number of rows included; None for syntactic methods.
        delta: the delta that the release costs besides.
        columns: names of the columns of ``Anonymized.rows``, in order: first the attributes that are released there,
            then those the method adds (a group number); the attributes where none is named.
        method: the method that was chosen, where the view leaves the choice open; otherwise "".
        changed: the columns that swapping changes, where it leaves others as they are.
        error: the predicted error in words, where the method knows it beforehand.
    """

    HIDDEN = frozenset({"make"})

    guarantee: str
    loss: Loss | None
    make: Make
    delta: Fraction = Fraction(0)
    columns: tuple[str, ...] = ()
    k: int = 0
    """The least rows of a cluster if the rows stay inside: bounds how far one privacy unit moves an order statistic."""
    method: str = ""
    changed: tuple[str, ...] = ()
    error: str = ""
    nulls: bool = False
    """Whether rows with a NULL among numbers are given to ``make``; otherwise they are left out."""


class Method(Protocol):
    """A method of anonymisation; ``methods.METHODS`` lists them."""

    name: ClassVar[str]
    options: ClassVar[Mapping[str, str]]
    """The options of the method, each with a line of help."""
    private: ClassVar[bool]
    """Whether releases are differentially private; False for the k-anonymity family."""

    def check(self, request: ViewRequest) -> ViewBuild:
        """Validate and price; raises ``InvalidOption``. Reads no row."""


WORDS: Words = os.urandom
"""The default source of randomness."""
