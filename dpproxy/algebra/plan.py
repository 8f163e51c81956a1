"""The values that move down the pipe, all frozen: who asks, what was planned, what is answered."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from math import ceil, inf, prod
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from msgspec import Struct

from dpproxy.algebra import nodes, printing
from dpproxy.policy.interval import CalendarInterval
from dpproxy.policy.model import Scalar
from dpproxy.values.pgtypes import Column, SqlType
from dpproxy.values.structs import PartlyCompared, PartlyShown
from udfs.mechanisms import Additive, Selection
from udfs.mechanisms.averaged import Averaged, Draw
from udfs.mechanisms.combination import Combination, Several
from udfs.privacy import Loss


class Caller(Struct, frozen=True):
    """Who asks: one authenticated session."""

    user: str
    roles: frozenset[str]
    session: str
    """A random name of the session, new at each login; never reused."""
    database: str = "main"
    process: int = 0
    """By which other sessions know it."""
    since: datetime | None = None
    """When the user was added: what was asked under the name before was asked by somebody else. None where unknown."""

    @property
    def is_admin(self) -> bool:
        """True for the built-in role ``admin``."""
        return "admin" in self.roles


class Notice(Struct, frozen=True):
    """A notice beside an answer."""

    message: str
    detail: str | None = None
    hint: str | None = None
    sqlstate: str = "00000"
    severity: str = "NOTICE"


class Stream(Protocol):
    """Rows that are still being made: read once, forwards; one call at a time, from any thread."""

    @property
    def is_open(self) -> bool:
        """Whether there may be more."""

    def take(self, most: int) -> Sequence[tuple[object, ...]]:
        """The next rows, at most so many; none after the last, and only then. Waits. Raises a ``Refusal``."""

    def close(self) -> None:
        """Make no more; does not wait."""


@runtime_checkable
class Scrollable(Stream, Protocol):
    """A stream for which a cursor that goes back can hold its rows."""

    def whole(self) -> Sequence[tuple[object, ...]]:
        """All that is left, if that is little. Waits. Raises ``TooComplex`` where it is not."""


class Answer(PartlyShown, PartlyCompared, Struct, frozen=True):
    """What a statement returns: rows of Python values in the columns' types, a command tag, notices.

    ``columns`` is None for statements without a result set. Values: None, bool, int, float, Decimal, str, bytes,
    date, datetime. Where there is a stream, it has the rows, and the tag lacks their number.
    """

    HIDDEN = frozenset({"rows", "stream", "still"})
    UNCOMPARED = frozenset({"still"})

    tag: str
    columns: tuple[Column, ...] | None = None
    rows: Sequence[tuple[object, ...]] = ()
    notices: tuple[Notice, ...] = ()
    is_exact: bool = False
    """Rows of people without noise, put on record before they were read."""
    nano: int = 0
    """What it debited, in nano-epsilon."""
    stream: Stream | None = None
    still: Callable[[], object] | None = None
    """Raises ``NotGranted`` where its rows may no longer be given; waits. None where they are the caller's for good."""

    def check(self) -> None:
        """Before more of its rows are given. Raises ``NotGranted``; waits."""
        if self.still is not None:
            self.still()


Settings = Mapping[str, str]
"""Session settings by lower-case name, as text."""


Rest = Literal["none", "null", "any"]
"""Which rows have none of a key's values: no row, only rows where the key is NULL, or any."""


class KeySet(PartlyCompared, Struct, frozen=True):
    """Group columns that vary together, and every tuple of values they can take, in declared order.

    None are listed where they are ``discovered``: those of a part then are one set. ``names`` are for people.
    """

    UNCOMPARED = frozenset({"names"})

    types: tuple[SqlType, ...]
    rows: tuple[tuple[Scalar | None, ...], ...]
    discovered: bool = False
    rests: tuple[Rest, ...] | None = None
    """For each column, which rows have none of its values; None where they are declared together."""
    names: tuple[str, ...] = ()


class Output(Struct, frozen=True):
    """One column of the answer: how the engine's value becomes the client's, and its predicted error.

    ``scale`` is that of an exact number held as an integer, None for everything else. ``floor`` is 0 for a count
    that is shown as never negative, ``ceiling`` the most that one is shown as. ``error`` is a line for
    EXPLAIN (PRIVACY), None for a column without noise. ``accuracy`` is for the notice beside the answer.
    """

    column: Column
    scale: int | None
    floor: int | None = None
    error: "Error | None" = None
    ceiling: int | None = None
    accuracy: "Accuracy | None" = None
    possible: "Possible | None" = None
    bound: "Bound | None" = None


class Bound(NamedTuple):
    """A column that bounds the one at a place, from above or from below."""

    place: int
    above: bool


class Possible(Struct, frozen=True):
    """What a value can be before noise: of one ``sign``, or zero; none in a row whose count is not positive.

    ``sign`` is 0 where both can be; ``count`` is the place of the count among the values of the answer stage.
    """

    sign: int = 0
    count: int | None = None


class RowNoise(Struct, frozen=True):
    """The noise of a released number: the draw, where it is one in each row, and what a step of it is worth."""

    draw: Draw | None = None
    unit: float = 1.0


class Accuracy(Struct, frozen=True):
    """Within what distance of a shown value the value before noise is, in its unit.

    ``half`` is the distance for all rows. ``place`` is that of a value of the answer stage which is the distance for
    its row, NULL where none is proved. With both, ``half`` is that of the row farthest off. ``far`` is the distance
    for a row as made of values of the answer stage, c0 and so on. None of them where only ``words`` say it.
    """

    half: float | None = None
    place: int | None = None
    far: nodes.Expr | None = None
    words: str = ""
    noise: "RowNoise | None" = None
    """Of a column of released rows: of different rows they are independent."""
    chosen: bool = False
    """Released values decide which rows there are: what a query around computes of all of them is over others then."""


class Error(Struct, frozen=True):
    """The predicted error of a column of an answer, in its own unit; the numbers are None where a count decides."""

    sensitivity: str
    noise_sd: float | None
    half_width: float | None
    formula: str | None = None
    over_count: float | None = None
    """The half-width times the released count, where it is a share of that."""
    rows: float | None = None
    """The half-width in rows of the group, of their number or of ranks among them."""
    span: float | None = None
    """The most that one row adds to a total; of an average the width of its bounds."""
    aggregate: str = ""

    def half(self, count: float) -> float | None:
        """The half-width in a group of so many rows, inside the bounds; None where it depends on more."""
        if self.half_width is not None or self.over_count is None:
            return self.half_width
        return min(self.over_count / count, inf if self.span is None else self.span)

    @property
    def lost(self) -> float | None:
        """In a group of so many rows noise is as large as the value can be; None where that is not known."""
        half = self.half_width if self.over_count is None else self.over_count
        return self.rows if half is None or not self.span else half / self.span


class Payer(Struct, frozen=True):
    """The accounts of a plan and their limits in force, in nats; None where no limit is declared."""

    ceiling: str
    ceiling_limit: Fraction
    budget: str
    budget_limit: Fraction
    user_limit: Fraction | None
    session_limit: Fraction | None
    ceiling_delta: Fraction = Fraction(0)
    budget_delta: Fraction = Fraction(0)
    concentrated: bool = False
    """True where losses add up as rho: the ceiling's accountant is ZCDP, and all limits are read that way."""
    refresh: CalendarInterval | None = None
    """How often the budget refills, with its users and sessions."""
    shares: bool = False
    """Whether what one user of the budget has paid for answers the others for nothing."""


class PublicPlan(Struct, frozen=True):
    """A statement over public tables: run as it is, exact and free."""

    query: nodes.Query
    outputs: tuple[Output, ...]
    exact: tuple[str, ...] = ()
    """Protected tables that it reads without noise: each answer is recorded before it is given."""
    portion: int = 0
    """So many rows are read at a time, and no more than are taken; 0 where there are few."""
    view: str = ""
    """The protected view it reads instead of the table that was named."""
    constant: bool = False
    """It reads no table at all: whenever it is run, its rows are the same."""

    @property
    def free(self) -> bool:
        """Running it debits nothing."""
        return True

    @property
    def deadline(self) -> float:
        """There is nothing that its time could tell."""
        return 0.0


class Summed(Struct, frozen=True):
    """Where the figures of a part come from: columns of draws of a mechanism, so many added up for each at most.

    Those of one number among ``cells`` are of the same draws. ``also`` are other draws of the same figures, with which
    the first are averaged.
    """

    mechanism: Additive
    columns: tuple[int, ...]
    terms: tuple[int, ...]
    cells: tuple[int, ...]
    also: tuple["Summed", ...] = ()
    laws: tuple["Summed", ...] = ()
    """Of each kind of row, where they differ: the column ``law`` of the relation says which a row has."""
    releases: int = 1
    """Of how many releases the draws are that are added up, or taken away."""

    @property
    def draws(self) -> tuple[Draw, ...]:
        """Of each figure, the first."""
        figures = zip(self.columns, self.terms, self.cells, strict=True)
        return tuple(Draw(self.mechanism, *figure) for figure in figures)

    @property
    def means(self) -> tuple[Averaged, ...]:
        """How each figure is made of those of all draws."""
        return tuple(Averaged(row) for row in zip(*(s.draws for s in (self, *self.also)), strict=True))


class Fitted(Struct, frozen=True):
    """Where the figures of a part come from: cells of a ``cube``; the noise of each, in the group farthest off.

    ``rounding`` is what rounding moves each by besides, at most. ``laws`` are those of each kind of row, as ``Summed``
    has them. With ``draws`` it is the mean with what follows from so many releases; without a cube, what follows from
    these together alone. With neither it follows from one release, of which a figure takes several.
    """

    cube: str
    noise: tuple[Combination | Several, ...]
    rounding: tuple[float, ...]
    laws: tuple["Fitted", ...] = ()
    draws: int = 0

    def half_width(self, confidence: Fraction) -> tuple[int, ...]:
        """What each figure stays within with at least this confidence."""
        pairs = zip(self.noise, self.rounding, strict=True)
        return tuple(ceil(noise.half_width(confidence) + more) for noise, more in pairs)


class Drawn(Struct, frozen=True):
    """What a part is answered from: a release of this loss, or figures of another one."""

    loss: Loss
    summed: Summed | Fitted | None = None

    @property
    def draws(self) -> int:
        """How many are averaged."""
        return 1 + len(self.summed.also) if isinstance(self.summed, Summed) else 1

    @property
    def fitted(self) -> Fitted | None:
        """The cube that it follows from; None where it follows from none."""
        return self.summed if isinstance(self.summed, Fitted) and self.summed.cube else None

    @property
    def together(self) -> int:
        """From how many releases it follows that answer it only together; 0 where it does not."""
        if isinstance(self.summed, Fitted):
            return 0 if self.summed.cube else self.summed.draws
        return 0 if self.summed is None or self.summed.releases == 1 else self.summed.releases


LAW = "law"
"""The column of a released relation that says which law of the error a row has."""
PREPARED = "dpproxy_prepared"
"""The database of prepared tables, beside that of the data."""


class PreparedTable(PartlyCompared, Struct, frozen=True):
    """A derived table that is built once for a data version and a policy: its name follows from these.

    ``query`` gives its rows; it takes the truncation secret as parameter 1 where ``truncated``.
    """

    UNCOMPARED = frozenset({"table", "query", "truncated"})

    name: str
    table: str
    """The table it is of."""
    query: nodes.Query
    truncated: bool


class Input(Struct, frozen=True):
    """A released value that an exact stage takes: the parameter, and where it is among the rows of a query.

    A query may give the values of many; that of a row that is not there is NULL.
    """

    number: int
    query: nodes.Query
    row: int = 0
    place: int = 0


class Part(PartlyCompared, Struct, frozen=True):
    """One release of a statement: what is computed exactly, and the draw that turns it into the relation ``r<n>``.

    ``query`` is run by the backend. It takes the truncation secret as parameter 1 where ``truncated``, and the values
    of ``inputs``, which are computed over the relations of earlier parts. ``release`` is run over the relations
    ``keys`` and ``exact`` by an engine without data; its columns are the ordinal ``o``, the keys ``k0...`` and the
    list ``v`` of ``measures`` released integers. Where keys are not public there is no relation ``keys``, and ``exact``
    holds the groups that ``selection`` keeps.
    """

    UNCOMPARED = frozenset({"believed"})

    query: nodes.Select
    truncated: bool
    release: str
    keys: tuple[KeySet, ...]
    measures: int
    box: str
    """The sensitivities and what is done about them: equal boxes may stand for each other at another loss."""
    noise: str
    """The mechanism in words, for the ledger."""
    loss: Loss
    factor: int = 1
    """The part's loss over the mechanism's: how often one unit pays."""
    mechanism: Additive | None = None
    """The source of additive noise, None where there is another or none."""
    noise_delta: Fraction = Fraction(0)
    """What the noise costs besides the loss."""
    why: str = ""
    """What the mechanism was chosen for, for people."""
    inputs: tuple[Input, ...] = ()
    prepares: tuple[PreparedTable, ...] = ()
    """What ``exact`` reads beside the data, and what may have to be built first."""
    refined: bool = False
    """True where the answer is a draw from a prior; the measure is the place of one of its values."""
    believed: bool = False
    """True where a prior is weighed with the draw, which then is averaged with no other."""
    vacuous: bool = False
    """True where nothing is released: the measures are 0 whatever the data, or there are none."""
    selection: Selection | None = None
    """Decides which groups are shown, where keys are not public: by the last column of the exact stage."""
    histogram: tuple[int, int] | None = None
    """Of order statistics: the cells of a group's, and in how many draws each of them is."""
    concentrated: bool = False
    """Its loss is bounded as rho alone: it is several draws whose squares add up to it."""
    portion: Fraction = Fraction(1)
    """How much of a part's share it takes, where it shares that with another part."""
    points: int | None = None
    """The number of an earlier part: ``release`` draws around what that one released, the relation ``points``."""
    blocks: tuple[str, ...] = ()
    """The blocks of people that it is about, and no others; none for everybody."""
    most: int = 0
    """The most such groups that an answer can have; how many there are nobody knows."""

    @property
    def exact(self) -> str:
        """The query as DuckDB's SQL."""
        return printing.text(self.query)

    @property
    def delta(self) -> Fraction:
        """What the part costs besides its loss."""
        return self.noise_delta + (Fraction(0) if self.selection is None else self.selection.delta)

    @property
    def discovered(self) -> bool:
        """True where keys are not public."""
        return any(k.discovered for k in self.keys)

    @property
    def groups(self) -> int:
        """How many declared keys are answered."""
        return prod(len(k.rows) for k in self.keys)

    @property
    def key_types(self) -> tuple[SqlType, ...]:
        """The types of the group columns."""
        return tuple(t for k in self.keys for t in k.types)


class PriorCheck(Struct, frozen=True):
    """``sql`` over the relations of the parts counts draws, of so many ``groups``, that contradict a ``prior``."""

    sql: str
    prior: str
    groups: int


class Hidden(NamedTuple):
    """Groups whose released number of what is said is no larger are not shown; ``added`` where it was not asked for."""

    most: float
    what: str
    added: bool = False


class Stated(Struct, frozen=True):
    """What is said about all noisy columns of an answer.

    All distances of a row hold with ``confidence`` each; ``together``, where released values decide which rows are
    shown, those of all rows that could have been shown hold at once. ``unproved`` where they decide, and the rows that
    could have been shown are not known. ``most`` is the largest epsilon that the statement may cost. ``impossible``
    says what is shown for values that cannot be, and ``significant`` whether digits that say nothing are dropped.
    """

    confidence: Fraction
    together: bool
    unproved: bool
    most: Fraction
    impossible: Literal["show", "clamp", "null"] = "show"
    significant: bool = False
    hidden: Hidden | None = None


class Plan(Struct, frozen=True):
    """A statement over protected data, planned from the policy alone; nothing was read or spent.

    ``answer`` is everything the analyst wrote over released values: one statement over the relations of the parts.
    ``publics`` are exact statements over public tables, whose rows are the relations ``p0...``.
    """

    parts: tuple[Part, ...]
    answer: str
    unit: str
    outputs: tuple[Output, ...]
    payer: Payer
    label: str
    policy_version: int
    data_version: int
    publics: tuple[nodes.Query, ...] = ()
    empty: bool = False
    """True for LIMIT 0: the answer has no rows and is free."""
    solved: str = ""
    """What its loss was solved for, for people."""
    deadline: float = 0.0
    """Seconds its work takes, by the declared sizes and one unit's worst; it is answered then at the earliest."""
    rows: int | None = None
    """The declared rows of its largest table; None where one of its tables has none."""
    epoch: int = 0
    """The data source's, before any public fact was read that the plan rests on."""
    cuts: tuple[str, ...] = ()
    """What is not seen of the rows as they are, by the policy."""
    narrower: tuple[str, ...] = ()
    """Bounds that would leave nearly all values as they are, as was released, and make less noise."""
    notices: tuple[Notice, ...] = ()
    """Notices beside its answer: they follow from the statement and the policy."""
    checks: tuple["PriorCheck", ...] = ()
    """What else is told, by what was released."""
    accuracy: "Stated | None" = None
    """What the distances of ``Output.accuracy`` mean; None where no released value is shown."""
    copied: tuple[str, ...] = ()
    """The columns of the one released relation where ``answer`` shows these as they are; none where it does more."""

    @property
    def sized(self) -> bool:
        """EXPECTED ROWS of all its tables are in the deadline: one that is missed by far is no accident."""
        return self.rows is not None

    @property
    def charged(self) -> tuple[Part, ...]:
        """The parts that draw noise."""
        return () if self.empty else tuple(p for p in self.parts if not p.vacuous)

    @property
    def free(self) -> bool:
        """Running it debits nothing."""
        return not self.charged

    @property
    def loss(self) -> Loss:
        """What the statement costs at most: the sum over its parts."""
        return Loss(sum(p.loss.nano for p in self.charged))

    @property
    def rho(self) -> Fraction:
        """The same as a concentrated loss: the squares of its parts' epsilon over 2."""
        return sum((p.loss.epsilon**2 / 2 for p in self.charged), Fraction(0))

    @property
    def discovered(self) -> bool:
        """True where keys of a part are not public."""
        return any(p.discovered for p in self.parts)

    @property
    def delta(self) -> Fraction:
        """What the statement costs besides."""
        return sum((p.delta for p in self.charged), Fraction(0))

    @property
    def blocks(self) -> tuple[str, ...]:
        """The blocks of people that all its parts are about; none for everybody."""
        if not all(p.blocks for p in self.charged):
            return ()
        return tuple(dict.fromkeys(block for p in self.charged for block in p.blocks))

    @property
    def groups(self) -> int:
        """How many keys are answered, over all parts."""
        return max((p.groups for p in self.parts), default=0)
