"""One pass over one statement: what was found so far, and names that are used once."""

from collections.abc import Set
from fractions import Fraction
from typing import Any, cast

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.algebra.figures import Figure
from dpproxy.algebra.plan import PREPARED, Fitted, Hidden, Input, KeySet, Notice, Part, PreparedTable, Summed
from dpproxy.analysis.scopes import Parameters
from dpproxy.planner.access import Context, Use
from dpproxy.planner.release.exact import ExactQuery
from dpproxy.planner.release.pricing import Draft, Source, Terms
from dpproxy.planner.rows.relation import ReleasedStage
from dpproxy.values.work import step
from dpproxy.views.materialized import Materialized
from udfs.privacy import Loss

PART = 10_000
"""Steps of planning that a part takes besides its keys and expressions."""


class Planning(Struct):
    """Collects what a plan is made of: what it costs is said once all is known (``release.pricing``).

    ``terms`` are what the whole statement may cost, of which it follows how quantiles and their bounds share a loss,
    whether keys may be looked for, and whether a prior is believed or refined.
    """

    context: Context
    parameters: Parameters
    terms: Terms
    weighed: bool = False
    """It was compiled for this loss and no other."""
    drafts: list[Draft] = field(default_factory=list)
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
    checks: list[tuple[nodes.Select, str, int]] = field(default_factory=list)
    """What counts draws that contradict a prior, that in short, and of how many groups."""
    selected: bool = False
    """Released values decide which rows are shown."""
    hidden: list[Hidden] = field(default_factory=list)
    stages: list[ReleasedStage] = field(default_factory=list)
    """What earlier stages of the statement hand on to later ones."""
    noisy: set[tuple[nodes.Expr, ...]] = field(default_factory=set)
    """What is listed of each release that has values which can be shown."""
    named: dict[int, tuple[object, object, int]] = field(default_factory=dict)
    """By the identity of a name of WITH: this, the relation that it stands for, and the work that was."""
    singles: dict[nodes.Expr, float | nodes.Expr | None] = field(default_factory=dict)
    """How far off single values of subqueries are; None where that is not known."""
    read: list[Materialized] = field(default_factory=list)
    """The released views of the statement."""

    def first(self, otherwise: str) -> str:
        """The first protected table that the statement names."""
        return self.tables[0].granted if self.tables else otherwise

    @property
    def beside(self) -> int:
        """How many releases have values that can be shown: intervals of all hold together."""
        return cast("int", Figure(int))

    def source(self, number: int) -> Any:  # noqa: ANN401 - whatever the draft's price says
        """What the noise of a draft follows from, as a figure."""
        draft, known = self.drafts[number], self.context.losses is not None and number
        return Source(Source, number=number, drawn=(*draft.drawn, draft.part.portion, known))

    def summed(self, number: int) -> Summed | Fitted | None:
        """What the figures of a part are made of, where that is no draw of its own."""
        losses = self.context.losses
        return losses[number].summed if losses is not None and number < len(losses) else None

    def add(self, draft: Draft, blocks: tuple[str, ...] = ()) -> int:
        """The number of a draft, which is about these ``blocks``."""
        step(PART)
        for index, known in enumerate(self.drafts):
            if known.alike == draft.alike:
                if draft.part.believed and not known.part.believed:
                    self.drafts[index] = replace(known, part=replace(known.part, believed=True))
                return index
        read = self.prepares and {
            t.name for t in draft.part.query.find_all(nodes.Table) if t.path[:1] == (PREPARED,)
        }
        tables = tuple(table for name, table in self.prepares.items() if name in read)
        self.drafts.append(replace(draft, part=replace(draft.part, prepares=tables, blocks=blocks)))
        return len(self.drafts) - 1

    def take(self, query: nodes.Query, row: int = 0, place: int = 0) -> int:
        """The number of the parameter that stands for a released value: one of the rows of a query."""
        return self.inputs.setdefault((query, row, place), len(self.inputs) + 2)

    def inputs_of(self, parameters: Set[int]) -> tuple[Input, ...]:
        """The parameters that stand for released values."""
        return tuple(Input(number, *found) for found, number in self.inputs.items() if number in parameters)

    def part(
        self, exact: ExactQuery, keys: tuple[KeySet, ...] = (), measures: int = 1, *, vacuous: bool = False
    ) -> Part:
        """What is released, with its price open; of the released values these that its exact stage takes."""
        query, taken = exact.query, exact.parameters
        inputs = self.inputs_of(taken)
        return Part(query, 1 in taken, "", keys, measures, "", "", Loss(0), inputs=inputs, vacuous=vacuous)

    def describe(self, label: str, unit: str) -> None:
        """Say what was released, and about whom."""
        self.labels += [label] if label not in self.labels else []
        self.units += [unit] if unit not in self.units else []

    def tell(self, notice: Notice) -> None:
        """Beside the answer, once."""
        self.notices += [notice] if notice not in self.notices else []

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
