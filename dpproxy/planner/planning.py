"""One pass over one statement: what was found so far, and names that are used once."""

from collections.abc import Set
from fractions import Fraction
from math import ceil

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import (
    PREPARED,
    Fitted,
    Hidden,
    Input,
    Notice,
    Part,
    PreparedTable,
    PriorCheck,
    Summed,
)
from dpproxy.analysis.scopes import Parameters
from dpproxy.planner.access import Context, Use
from dpproxy.planner.rows.relation import ReleasedStage
from dpproxy.values.work import step
from dpproxy.views.materialized import Materialized
from udfs.privacy import Loss

PART = 10_000
"""Steps of planning that a part takes besides its keys and expressions."""
LEAST_DELTA = Fraction(1, 10**30)
"""A delta is a multiple of it."""


class Planning(Struct):
    """Collects the parts of a plan.

    ``shares`` is in how many equal shares the statement's loss is split, ``selections`` in how many its delta; they are
    known after a first pass.
    """

    context: Context
    parameters: Parameters
    loss: Loss
    shares: int = 1
    delta: Fraction = Fraction(0)
    selections: int = 1
    concentrated: bool = False
    """Losses add up as rho: a Gaussian costs no delta of its own."""
    parts: list[Part] = field(default_factory=list)
    publics: dict[nodes.Query, int] = field(default_factory=dict)
    tables: list[Use] = field(default_factory=list)
    """The protected tables of the statement."""
    units: list[str] = field(default_factory=list)
    """The privacy units of the parts, for people."""
    cuts: list[str] = field(default_factory=list)
    """What is not seen of the rows as they are, for people."""
    narrower: list[str] = field(default_factory=list)
    """Narrower bounds, for people."""
    labels: list[str] = field(default_factory=list)
    inputs: dict[tuple[nodes.Query, int, int], int] = field(default_factory=dict)
    """Queries over released relations, and a row and a column of each; the parameters of exact stages from $2 on."""
    prepares: dict[str, PreparedTable] = field(default_factory=dict)
    """The prepared tables of the statement by name."""
    names: set[str] = field(default_factory=set)
    worst: int = 1
    """The most rows of one unit in a relation that something is computed of, in whatever order it is joined."""
    inner: int = 1
    """How many rows one of these meets in a subquery of an expression, at most."""
    own: int = 1
    """The most rows of one unit before they meet public ones."""
    met: int = 0
    """Rows of public tables that are joined."""
    fan: Fraction = Fraction(1)
    """How many times the rows of a protected table such a relation has, by the mean of public tables."""
    masked: list[exp.Table] = field(default_factory=list)
    """Where views are named that are not private differentially."""
    notices: list[Notice] = field(default_factory=list)
    checks: list[PriorCheck] = field(default_factory=list)
    selected: bool = False
    """Released values decide which rows are shown."""
    hidden: Hidden | None = None
    stages: list[ReleasedStage] = field(default_factory=list)
    """What earlier stages of the statement hand on to later ones."""
    beside: int = 1
    """How many releases have values that can be shown, as an earlier pass found: intervals of all hold together."""
    noisy: set[tuple[nodes.Expr, ...]] = field(default_factory=set)
    """What is listed of each of these."""
    named: dict[int, tuple[object, object, int]] = field(default_factory=dict)
    """By the identity of a name of WITH: this, the relation that it stands for, and the work that was."""
    singles: dict[nodes.Expr, float | nodes.Expr | None] = field(default_factory=dict)
    """How far off single values of subqueries are; None where that is not known."""
    read: list[Materialized] = field(default_factory=list)
    """The released views of the statement."""

    def first(self, otherwise: str) -> str:
        """The first protected table that the statement names."""
        return self.tables[0].granted if self.tables else otherwise

    def share(self, portion: Fraction = Fraction(1), *, rest: bool = False) -> Loss:
        """The loss of the next part, a ``portion`` of that of one which is alone; what others leave where ``rest``."""
        losses = self.context.losses
        if losses is not None and len(self.parts) < len(losses):
            return losses[len(self.parts)].loss
        whole = self.loss.nano // self.shares
        return Loss(whole - int(whole * (1 - portion)) if rest else int(whole * portion))

    def summed(self, number: int) -> Summed | Fitted | None:
        """What the figures of a part are made of, where that is no draw of its own."""
        losses = self.context.losses
        return losses[number].summed if losses is not None and number < len(losses) else None

    def add(self, part: Part, blocks: tuple[str, ...] = ()) -> int:
        """The number of a part, which is about these ``blocks``; two that are computed and released alike are one."""
        step(PART)
        for index, known in enumerate(self.parts):
            if (known.query, known.box, known.keys, known.inputs, known.vacuous) == (
                part.query, part.box, part.keys, part.inputs, part.vacuous,
            ):  # fmt: skip
                if part.believed and not known.believed:
                    self.parts[index] = replace(known, believed=True)
                return index
        read = self.prepares and {
            t.name for t in part.query.find_all(nodes.Table) if t.path[:1] == (PREPARED,)
        }
        tables = tuple(table for name, table in self.prepares.items() if name in read)
        self.parts.append(replace(part, prepares=tables, blocks=blocks) if tables or blocks else part)
        return len(self.parts) - 1

    def take(self, query: nodes.Query, row: int = 0, place: int = 0) -> int:
        """The number of the parameter that stands for a released value: one of the rows of a query."""
        return self.inputs.setdefault((query, row, place), len(self.inputs) + 2)

    def inputs_of(self, parameters: Set[int]) -> tuple[Input, ...]:
        """The parameters that stand for released values."""
        return tuple(Input(number, *found) for found, number in self.inputs.items() if number in parameters)

    def describe(self, label: str, unit: str) -> None:
        """Say what was released, and about whom."""
        self.labels += [label] if label not in self.labels else []
        self.units += [unit] if unit not in self.units else []

    def tell(self, notice: Notice) -> None:
        """Beside the answer, once."""
        self.notices += [notice] if notice not in self.notices else []

    def delta_share(self) -> Fraction:
        """The delta of the next part that costs some: a whole number of steps, so that sums stay short."""
        return Fraction(int(self.delta / self.selections / LEAST_DELTA), 1) * LEAST_DELTA

    def selecting(self) -> int:
        """How many parts cost delta."""
        return sum(1 for p in self.parts if p.delta and not p.vacuous)

    def charged(self) -> int:
        """How many parts draw noise; those that share one portion are one."""
        return ceil(sum(p.portion for p in self.parts if not p.vacuous))

    def never_any(self, keys: int) -> bool:
        """Whether there are no groups: while parameters are open, those that their values leave are not known."""
        return not keys and not self.parameters.are_open

    def reserve(self, name: str) -> str:
        """A name that no other physical column or relation of the statement has: itself where it is free."""
        found, number = name, 0
        while found.lower() in self.names:  # the engine's names do not tell cases apart
            number += 1
            found = f"{name}_{number}"
        self.names.add(found.lower())
        return found
