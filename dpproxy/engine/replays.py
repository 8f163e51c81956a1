"""Answers of a plan's parts from stored releases that the caller has paid for and that are visible."""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf

import pyarrow as pa
from msgspec import Struct, field
from msgspec.structs import replace

from dpproxy.accounting import sharing
from dpproxy.accounting.model import Account, Reservation, StoredRelease
from dpproxy.accounting.releases import ReleaseStore
from dpproxy.accounting.schema import FAMILY
from dpproxy.accounting.sharing import Pool
from dpproxy.algebra.plan import Caller, Drawn, Fitted, Notice, Part, Plan
from dpproxy.backends.release import Histograms
from dpproxy.engine import payloads, payment
from dpproxy.engine.deadlines import Deadlines
from dpproxy.engine.means import PartAnswer, averaged, taken, together, with_cube
from dpproxy.engine.questions import Question, noise_ratio, summed
from dpproxy.planner.reuse.descriptor import Descriptor, counting, described, origins
from dpproxy.planner.reuse.multiples import figures
from dpproxy.planner.reuse.ranges import ConditionIndex, remainders
from dpproxy.planner.reuse.rollup import adds_up, could_follow, derivation, has_sums
from dpproxy.values.errors import Cancelled, Internal
from dpproxy.values.grid import start_time
from dpproxy.values.recent import Recent
from dpproxy.values.structs import PartlyShown
from udfs.privacy import Loss, Released

MOST_NOISE = 10.0
"""A part may be derived from a stored release where that has at most this many times the noise of a new draw."""
MOST_DESCRIPTORS = 4096
"""The most stored releases whose descriptors are held in memory."""
MOST_SHELVES = 256
"""The most groups of releases that are kept in memory as they are searched."""
MOST_QUESTIONS = 1024
"""The most parts of plans whose keys are held in memory."""
MOST_WALKS = 8
"""Ways from release to release that are tried where groups of some do not give what is asked for."""


class Execution(PartlyShown, Struct, frozen=True):
    """One run of a plan for a caller; ``cancelled`` says whether they have cancelled it.

    ``worst`` bounds the noise of a part that is derived from a stored release, as a multiple of that of a new draw. For
    a part that is derived from a release that this run itself has drawn (``fresh``, by ledger sequence) the bound is 1.
    ``alike`` where only releases of the planned mechanism may answer, since the caller has named one. Without ``reuse``
    only those of this run may. ``alone`` where no other's may, even of a budget that shares its releases.
    """

    HIDDEN = frozenset({"histograms", "released"})

    caller: Caller
    plan: Plan
    cancelled: Callable[[], bool]
    worst: float = MOST_NOISE
    alike: bool = False
    reuse: bool = True
    alone: bool = False
    fresh: set[int] = field(default_factory=set)
    notices: list[Notice] = field(default_factory=list)
    """Notices about the released values."""
    reservations: dict[bytes, Reservation] = field(default_factory=dict)
    """Charges whose noise is not drawn yet, by the keys of the releases."""
    paid: list[Reservation] = field(default_factory=list)
    """Charges of this run."""
    accepted: set[str] = field(default_factory=set)
    """The SQL of exact stages that the data source has checked and accepted."""
    histograms: Histograms = field(default_factory=Histograms)
    """What several parts are drawn from."""
    released: dict[int, Released[pa.Table]] = field(default_factory=dict)
    """The relations of parts, by their numbers: others are drawn around them."""
    start: float = field(default_factory=start_time)
    on_charge: Callable[[Reservation | None], object] = lambda _: None
    """Called after each group of parts is charged, before they run, with the last reservation if there is one."""

    @property
    def account(self) -> Account:
        """The account by which the store knows what was paid for: the caller's, or that of a budget that shares."""
        return (sharing.own if self.alone else sharing.reader)(self.plan, self.caller.user)

    @property
    def pool(self) -> Pool:
        """Where the plan's releases are kept."""
        return sharing.pool(self.plan)

    def check(self) -> None:
        """Raise ``Cancelled`` where the caller has cancelled."""
        if self.cancelled():
            raise Cancelled("canceling statement due to user request")


class Following(Struct, frozen=True):
    """How far off a part is that follows from a cube, and what makes its relation."""

    fitted: Fitted
    table: Callable[[], pa.Table]


class Replays:
    """Looks up parts in the release store; its methods may be called from any thread."""

    def __init__(self, releases: ReleaseStore, deadlines: Deadlines) -> None:
        self._releases = releases
        self._deadlines = deadlines
        self._described = Recent[tuple[Descriptor | None]](MOST_DESCRIPTORS)
        self._questions = Recent[Question](MOST_QUESTIONS)
        self._shelves = Recent[_Shelf](MOST_SHELVES)
        self.cubes: Callable[[Caller, Plan, Part], Iterable[Following]] = lambda *_: ()
        """What else a part follows from: privacy cubes that are granted to the caller; to be replaced."""

    def question(self, execution: Execution, part: Part, values: tuple[object, ...] = ()) -> Question:
        """The question of a part with its input values."""
        found = None if values else self.cached_question(execution, part)
        if found is None:
            asked = described(part, values, execution.pool)
            key = payment.release_key(part, values, execution.pool, asked)
            found = Question(part, values, key, asked)
            if not values:
                self._questions.put((id(part), execution.pool), found)
        return found

    def cached_question(self, execution: Execution, part: Part) -> Question | None:
        """The question of a part without input values, where ``question`` has made it before; else None."""
        found = self._questions.get((id(part), execution.pool))
        return found if found is not None and found.part is part else None

    def same_release(self, execution: Execution, question: Question) -> PartAnswer | None:
        """A stored release of the same part that the caller has paid for; no derivation is tried."""
        return self.if_paid(execution, question, self.stored_release(execution, question))

    def single_release(self, execution: Execution, question: Question) -> PartAnswer | None:
        """As ``same_release``; None where several would be averaged, which takes its time."""
        stored = self.stored_release(execution, question)
        if stored is None or stored.also:
            return None
        # What another user of a budget has paid for is first put on record.
        own = sharing.own(execution.plan, execution.caller.user)
        return self.if_paid(execution, question, stored) if own in stored.payers else None

    def if_paid(
        self, execution: Execution, question: Question, stored: StoredRelease | None
    ) -> PartAnswer | None:
        """The answer from a stored release of the same part, where the caller has paid for it; else None.

        It is averaged with other releases of the same part that they have paid for.
        """
        if stored is None or execution.account not in stored.payers:
            return None
        first = self.as_asked(question, stored)
        return (
            first if question.part.believed else averaged([first, *self._others(execution, question, stored)])
        )

    def with_earlier(self, execution: Execution, question: Question, bought: PartAnswer) -> PartAnswer:
        """What was bought now, averaged with other releases of the same part that the caller has paid for before."""
        if (
            not execution.reuse
            or question.part.mechanism is None
            or len(self._releases.paid((question.key,), execution.account)) == 1
        ):
            return bought
        found = self.same_release(execution, question)
        return bought if found is None else replace(found, cost=bought.cost)

    def _others(
        self, execution: Execution, question: Question, stored: StoredRelease
    ) -> Iterator[PartAnswer]:
        for origin in stored.also:
            # Checked first: the time of reading a release would reveal that it exists.
            payload = self._releases.load(origin) if self._may_answer(execution, origin) else None
            if payload is not None:
                other = replace(stored, id=origin, payload=payload)
                yield self.as_asked(question, other)

    def free_draw(self, execution: Execution, part: Part) -> Drawn | None:
        """What would answer a part without inputs at no cost; None where it would be charged."""
        found = self.free_answer(execution, self.question(execution, part))
        return None if found is None else found.drawn

    def smallest_group(self, caller: Caller, plan: Plan) -> float | None:
        """The released number of rows of the plan's smallest group; None where no count was released to the caller."""
        execution = Execution(caller, plan, lambda: False, alone=True)
        part = next((p for p in plan.charged if not p.inputs), None)
        asked = None if part is None else described(part, (), execution.pool)
        numbers = None if asked is None else counting(asked)
        if part is None or numbers is None:
            return None
        for origin, _ in self._releases.paid(origins(numbers), execution.account):
            found = self._follows(origin, numbers, part) if self._deadlines.is_seen(origin) else None
            if found is not None:
                return min(float(values[0]) for values in found.released.value["v"].to_pylist())
        return None

    def stored_release(self, execution: Execution, question: Question) -> StoredRelease | None:
        """A stored release of the same part that is visible, or that this run has drawn itself."""
        stored = self._releases.find(question.key, question.part.loss.nano, execution.account)
        return stored if stored is None or self._may_answer(execution, stored.id) else None

    def _may_answer(self, execution: Execution, origin: int) -> bool:
        """Whether a run may use a release: its own, or one that is visible."""
        return origin in execution.fresh or (execution.reuse and self._deadlines.is_seen(origin))

    def free_answer(self, execution: Execution, question: Question) -> PartAnswer | None:
        """The part from a release that the caller has paid for: of the same part, or of one it can be derived from."""
        return self.same_release(execution, question) or self.derived_answer(execution, question)

    def derived_answer(self, execution: Execution, question: Question) -> PartAnswer | None:
        """The part as derived from stored releases and from a cube: from both where that is more accurate."""
        own = question.part.mechanism
        cube = self._cube_answer(execution, question)
        paid = self._paid(execution, question)
        summed = self._summed_answer(execution, question, paid, beside=cube is not None)
        if summed is None and cube is None:
            return self._together(execution, question, paid)
        both = None if summed is None or cube is None else with_cube(summed, cube)
        return both or min(
            (one for one in (summed, cube) if one is not None),
            key=lambda one: inf if one.summed is None or own is None else noise_ratio(one.summed, own),
            default=None,
        )

    def _cube_answer(self, execution: Execution, question: Question) -> PartAnswer | None:
        """The part from the most accurate cube, however accurate that is unless better answers are asked for.

        None where the caller has named a mechanism, or a prior is weighed with a draw.
        """
        part = question.part
        if part.mechanism is None or part.believed or not execution.reuse or question.values:
            return None
        worst = inf if execution.worst == MOST_NOISE else execution.worst
        found = [
            (noise_ratio(one.fitted, part.mechanism, alike=execution.alike), one)
            for one in self.cubes(execution.caller, execution.plan, part)
        ]
        ratio, best = min(found, key=lambda pair: pair[0], default=(inf, None))
        if best is None or execution.alike or ratio > worst:
            return None
        return PartAnswer(Released(best.table(), part.loss), summed=best.fitted)

    def as_asked(self, question: Question, stored: StoredRelease) -> PartAnswer:
        """The answer from a stored release of the same part, its groups and columns in the part's order."""
        part, loss = question.part, Loss(stored.nano)
        asked = question.asked
        of = self._descriptor(stored.id, stored.payload)
        table = payloads.unpack(stored.payload)
        if asked is None or of is None:
            return PartAnswer(Released(table, loss), origins=(stored.id,))
        wanted, groups = payloads.wanted_of(part), payloads.groups_of(table)
        found = derivation(of, groups, asked, wanted)
        if found is None:
            raise Internal("a stored release is not what its key says")
        # Two keys of the same values may have changed places: the list of groups does not show that.
        in_order = tuple((n,) for n in range(len(groups)))
        is_alike = groups == wanted and all(places == in_order for places in found.places)
        if not is_alike or found.columns != tuple(((n, 1),) for n in range(part.measures)):
            table = payloads.derive(table, found, part)
        return PartAnswer(Released(table, loss), summed=summed(of.mechanism, found)[0], origins=(stored.id,))

    def _paid(self, execution: Execution, question: Question) -> dict[int, int]:
        """(charge, nano-epsilon) of the releases that a part could follow from, alone or together."""
        asked = question.asked
        if asked is None or question.part.mechanism is None:
            return {}
        return dict(self._releases.paid((asked.rows[:FAMILY], *origins(asked)), execution.account))

    def _summed_answer(
        self, execution: Execution, question: Question, paid: Mapping[int, int], *, beside: bool
    ) -> PartAnswer | None:
        """The part as derived from a stored release of finer groups or more columns: from the most accurate one.

        It is averaged with what follows from other releases, but not where this run has drawn it itself: figures of
        one statement add up. ``beside`` a cube one of less loss than is asked for counts, too.
        """
        part, asked = question.part, question.asked
        if asked is None or part.mechanism is None:
            return None
        with self._shelf(execution, asked.rows[:FAMILY], paid) as shelf:
            usable = shelf.usable(asked, paid)
            possible = [o for o in shelf.index.within(asked.conditions) if usable(o) is not None]
        # Most accurate first; whatever is less accurate than was asked for is looked at where it can be averaged with.
        enough = [origin for origin in possible if beside or paid[origin] >= part.loss.nano]
        following = self._ranked(execution, enough, asked, part)
        best = next(
            (f for f in following if f[0] <= (1.0 if f[1] in execution.fresh else execution.worst)), None
        )
        if best is None or part.believed or best[1] in execution.fresh:
            return None if best is None else best[2]
        following += self._ranked(execution, [o for o in possible if o not in enough], asked, part)
        others = sorted((o for o in following if o is not best and o[0] < inf), key=lambda other: other[:2])
        return averaged([best[2], *(found for _, _, found in others)])

    def _ranked(
        self, execution: Execution, among: Sequence[int], asked: Descriptor, part: Part
    ) -> list[tuple[float, int, PartAnswer]]:
        """What follows from each release, with its noise over that of a new draw: the least first."""
        found = [
            (noise_ratio(one.summed, part.mechanism, alike=execution.alike), origin, one)
            for origin in among
            if (one := self._follows(origin, asked, part)) is not None
            if one.summed is not None and part.mechanism is not None
        ]
        return sorted(found, key=lambda one: one[:2])

    def _together(
        self, execution: Execution, question: Question, paid: Mapping[int, int]
    ) -> PartAnswer | None:
        """The part from several stored releases that answer it only together."""
        part, asked = question.part, question.asked
        if asked is None or part.mechanism is None or part.believed:
            return None
        if not all(map(adds_up, asked.measures)):
            return None
        among = {origin for origin, nano in paid.items() if nano >= part.loss.nano}
        with self._shelf(execution, asked.rows[:FAMILY], paid) as shelf:
            for make in (self._of_rows, self._of_figures):
                made = make(shelf, among, asked, part)
                worst = 1.0 if made is not None and execution.fresh & set(made.origins) else execution.worst
                if (
                    made is not None
                    and made.summed is not None
                    and noise_ratio(made.summed, part.mechanism, alike=execution.alike) <= worst
                ):
                    return made
        return None

    def _of_rows(
        self, shelf: "_Shelf", among: Collection[int], asked: Descriptor, part: Part
    ) -> PartAnswer | None:
        """The part as rows of some releases, without those of others."""
        if not asked.conditions:
            return None
        usable = shelf.usable(asked, among)
        useless = set[int]()
        for _ in range(MOST_WALKS):
            steps = shelf.index.walk(asked.conditions, lambda o: None if o in useless else usable(o)) or []
            found = [
                self._follows(origin, replace(asked, conditions=shelf.known[origin].conditions), part)
                for origin, _ in steps
            ]
            if None not in found:
                made = _added(found, [sign for _, sign in steps])
                return made or self._remainder(shelf, usable, asked, part)
            useless.update(origin for (origin, _), one in zip(steps, found, strict=True) if one is None)
        return self._remainder(shelf, usable, asked, part)

    def _of_figures(
        self, shelf: "_Shelf", among: Collection[int], asked: Descriptor, part: Part
    ) -> PartAnswer | None:
        """The part as sums and counts of which each follows from a release of its own."""
        made = figures(asked.measures) if len(among) > 1 else None
        if made is None or len(made[0]) < 2:
            return None
        several = list[PartAnswer]()
        for call in made[0]:
            each = replace(asked, measures=(call,))
            ranked = shelf.ranked(each, shelf.usable(each, among))
            one = next((f for o in ranked if (f := self._follows(o, each, part)) is not None), None)
            if one is None:
                return None
            several.append(one)
        return taken(several, made[1])

    def _remainder(
        self, shelf: "_Shelf", usable: Callable[[int], float | None], asked: Descriptor, part: Part
    ) -> PartAnswer | None:
        """The part as rows that are added and taken away, each from a release of its own."""
        for parts in remainders(asked.conditions):
            several = list[PartAnswer]()
            for each in (replace(asked, conditions=found) for found, _ in parts):
                follows = (
                    self._follows(origin, each, part)
                    for origin in shelf.ranked(each, usable)
                    if all(origin not in one.origins for one in several)
                )
                one = next((one for one in follows if one is not None), None)
                if one is None:
                    break
                several.append(one)
            else:
                return together(several, [sign for _, sign in parts])
        return None

    @contextmanager
    def _shelf(self, execution: Execution, family: bytes, paid: Iterable[int]) -> Iterator["_Shelf"]:
        """Those of the releases that may answer, as they were found for the last question, and what has changed."""
        place = (execution.account, family)
        shelf = self._shelves.get(place)
        if shelf is None:
            shelf = _Shelf()
            self._shelves.put(place, shelf)
        # Checked first: the time of reading a release would reveal that it exists.
        unseen = self._deadlines.unseen()
        among = {o for o in paid if o in execution.fresh or (execution.reuse and o not in unseen)}
        with shelf.lock:
            shelf.hold(among, self._descriptor)
            yield shelf

    def _follows(self, origin: int, asked: Descriptor, part: Part) -> PartAnswer | None:
        known, payload = self._described.get(origin), None
        if known is None:
            payload = self._releases.load(origin)
            known = (self._descriptor(origin, payload),)
        [of] = known
        if of is None or not could_follow(of, asked):
            return None
        payload = payload or self._releases.load(origin)
        if payload is None:
            return None
        table = payloads.unpack(payload)
        found = derivation(of, payloads.groups_of(table), asked, payloads.wanted_of(part))
        if found is None:
            return None
        made, laws = summed(of.mechanism, found)
        derived = Released(payloads.derive(table, found, part, laws), part.loss)
        return PartAnswer(derived, summed=made, origins=(origin,))

    def describe(self, origin: int, of: Descriptor | None) -> None:
        """Know what a release is of that this process has stored."""
        self._described.put(origin, (of,))

    def _descriptor(self, origin: int, payload: bytes | None) -> Descriptor | None:
        """The descriptor of a stored release, read once, from its ``payload`` where that is at hand."""
        known = self._described.get(origin)
        if known is None:
            payload = self._releases.load(origin) if payload is None else payload
            known = (None if payload is None else payloads.descriptor_of(payload),)
            self._described.put(origin, known)
        return known[0]


class _Shelf:
    """The releases of some rows that an account has paid for; to be used under its lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.index = ConditionIndex()
        self.known: dict[int, Descriptor] = {}
        self._held: set[int] = set()

    def hold(self, origins: set[int], describe: Callable[[int, None], Descriptor | None]) -> None:
        """Have these and no others; what is without a descriptor is of no use."""
        for origin in self._held - origins:
            self._held.discard(origin)
            if self.known.pop(origin, None) is not None:
                self.index.remove(origin)
        for origin in origins - self._held:
            of = describe(origin, None)
            self._held.add(origin)
            if of is not None:
                self.known[origin] = of
                self.index.add(origin, of.conditions)

    def usable(self, asked: Descriptor, among: Collection[int]) -> Callable[[int], float | None]:
        """What a release costs of the rows that are asked about, None where keys or sums are of no use.

        Most have the same ones.
        """
        judged: list[tuple[Descriptor, float | None]] = []

        def cost(origin: int) -> float | None:
            of = self.known[origin]
            if of.rows != asked.rows or origin not in among:
                return None
            for alike, found in judged:
                if (alike.keys, alike.measures, alike.mechanism) == (of.keys, of.measures, of.mechanism):
                    return found
            found = max(of.mechanism.noise_sd()) ** 2 if has_sums(of, asked) else None
            judged.append((of, found))
            return found

        return cost

    def ranked(self, asked: Descriptor, usable: Callable[[int], float | None]) -> list[int]:
        """Those of no other conditions than the question's, the fewest keys and the least noise first."""
        found = (
            (len(self.known[origin].keys), cost, origin)
            for origin in self.index.within(asked.conditions)
            if (cost := usable(origin)) is not None
        )
        return [origin for _, _, origin in sorted(found)]


def _added(found: Sequence[PartAnswer | None], signs: Sequence[int]) -> PartAnswer | None:
    """The sum of what follows from several releases, some taken away; None where there are not all of them."""
    several = [one for one in found if one is not None]
    return together(several, signs) if len(several) == len(found) > 1 else None
