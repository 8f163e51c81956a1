"""From a plan to its rows, part by part: replay? reserve, run, release, keep; then the answer over all of them."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa

from dpproxy import output, payloads, payment, stream
from dpproxy.accounting.inflight import InFlight
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import Account, Cost, Reservation, Stored
from dpproxy.accounting.releases import ReleaseStore
from dpproxy.backends.columns import FEW
from dpproxy.backends.prepared import PreparedTables
from dpproxy.backends.release import Relations, Release
from dpproxy.backends.source import Source
from dpproxy.deadlines import Deadlines
from dpproxy.errors import BudgetExceeded, Cancelled, Internal
from dpproxy.following import Question, Replan, as_released, follows, independent, worse
from dpproxy.grid import began
from dpproxy.plan import Answer, Caller, Drawn, Part, Plan, PublicPlan, Summed
from dpproxy.planner.descriptor import Descriptor, counting, described, origins
from dpproxy.planner.rollup import could_follow, derivation
from dpproxy.recent import Recent
from udfs.privacy import Loss, Released

WAIT = 60.0
"""Seconds to wait for the same question asked by somebody else."""

WORST = 10.0
"""How many times the noise of a draw of its own a question is answered with from the groups of a stored release."""
DESCRIBED = 4096
"""Stored releases whose descriptors are kept at hand."""

POLL = 0.02
"""Seconds between two looks at whether who waits has changed their mind."""

FREE = Cost()


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks which plan; ``cancelled`` says whether they changed their mind.

    ``worst`` is how many times the noise of a draw of its own a part may have that follows from a stored release; of
    the releases that the statement itself draws, ``fresh``, none may have more. ``alike`` where only releases by the
    same mechanism count: one was asked for.
    """

    caller: Caller
    plan: Plan
    cancelled: Callable[[], bool]
    worst: float = WORST
    alike: bool = False
    fresh: set[int] = field(default_factory=set)
    reserved: dict[bytes, Reservation] = field(default_factory=dict)
    """What is charged and not drawn yet, by the keys of the releases."""
    began: float = field(default_factory=began)
    charged: Callable[[], None] = lambda: None
    """Called once what comes next is charged, before it is run."""

    @property
    def account(self) -> Account:
        """What the caller's own payments are found by."""
        return Account.user(self.plan.payer.budget, self.caller.user)

    def check(self) -> None:
        """Raise ``Cancelled``."""
        if self.cancelled():
            raise Cancelled("canceling statement due to user request")


@dataclass(frozen=True, slots=True)
class Found:
    """The released relation of a part: what it cost this caller, and what its figures are made of."""

    released: Released[pa.Table]
    cost: Cost = FREE
    summed: Summed | None = None

    @property
    def drawn(self) -> Drawn:
        """For planning the answer's error."""
        return Drawn(self.released.loss, self.summed)


class Answers:
    """Runs plans; its methods may be called from any thread."""

    def __init__(
        self, backend: Source, ledger: Ledger, secret: bytes, prepared: PreparedTables, padding: float = 0.0
    ) -> None:
        self._backend = backend
        self._prepared = prepared
        self._ledger = ledger
        self._secret = secret
        self._releases = ReleaseStore(ledger)
        self._described = Recent[tuple[Descriptor | None]](DESCRIBED)
        self._flights = InFlight[bytes]()
        self._deadlines = Deadlines(padding)
        self._release = Release()

    def rows(self, asking: Asking, replan: Replan) -> tuple[list[tuple[object, ...]], Cost]:
        """The rows of the answer, and what they cost this caller. Raises a ``Refusal``."""
        plan = asking.plan
        cost = Cost()
        if plan.empty:
            return [], cost
        # First what costs nothing: a public table that is too large is refused before anything is paid.
        publics = [self._backend.run_open(sql, asking.caller.session) for sql in plan.publics]
        relations: Relations = []
        drawn: list[Drawn] = []
        while len(relations) < len(plan.parts):
            for part, found in self._together(asking, relations, publics):
                relations.append((part, found.released))
                drawn.append(found.drawn)
                cost += found.cost
        shown = as_released(plan, drawn, replan)
        rows = self._release.answer(shown, relations, publics, asking.caller.session)
        return output.convert(plan.outputs, rows), cost

    def public(self, plan: PublicPlan, session: str) -> Answer:
        """The answer to a statement that nothing is charged for."""
        if plan.portion:
            return stream.begun(plan.outputs, self._backend.run_portions(plan, session))
        rows = output.convert(plan.outputs, self._backend.run_public(plan, session))
        return Answer(f"SELECT {len(rows)}", rows=rows)

    def interrupt(self, session: str) -> None:
        """Stop what a session runs; what it reserved stays charged."""
        self._backend.interrupt(session)
        self._release.interrupt(session)

    def close(self) -> None:
        """Drop the draws."""
        self._release.close()

    def _together(
        self, asking: Asking, earlier: Relations, publics: Sequence[pa.Table]
    ) -> list[tuple[Part, Found]]:
        """The next parts, as many as take no values of each other; all of them are paid for before the first is run.

        When an account is debited can be seen: between two parts it would tell how long the first one took. Where one
        takes values of parts before, it is debited at an instant of the statement's grid.
        """
        parts = independent(asking.plan.parts[len(earlier) :], len(earlier))
        if asking.fresh:
            self._wait(asking)
        questions = [self._question(asking, p, earlier, publics) for p in parts if not p.vacuous]
        if not earlier and len(asking.plan.charged) > 1:
            self._check_affordable(asking)
        known = self._reserve(asking, questions) if len(questions) > 1 else {}
        given, found = iter(questions), list[tuple[Part, Found]]()
        for part in parts:
            if part.vacuous:
                found.append((part, Found(self._release.zeros(part))))
                continue
            question = next(given)
            replayed = known.pop(question.key, None)
            found.append((part, self._released(asking, question) if replayed is None else replayed))
        return found

    def _question(
        self, asking: Asking, part: Part, earlier: Relations, publics: Sequence[pa.Table]
    ) -> Question:
        values = tuple(self._release.value(sql, earlier, publics) for _, sql in part.inputs)
        return Question(part, values, payment.release_key(part, values, asking.plan.data_version))

    def _wait(self, asking: Asking) -> None:
        """Until it may be seen that what the statement has drawn so far is there."""
        until = self._deadlines.seen_from(asking.plan, asking.began)
        while (left := until - time.monotonic()) > 0:
            asking.check()
            time.sleep(min(left, POLL))

    def _reserve(self, asking: Asking, questions: Sequence[Question]) -> dict[bytes, Found]:
        """Charge what is to be drawn; what is answered from the store already, by its key."""
        known: dict[bytes, Found] = {}
        fresh: list[Question] = []
        for question in questions:
            self._deadlines.check(question.key)
        for question in questions:
            if question.key in asking.reserved or question.key in known:
                continue
            replayed = self._replay(asking, question)
            if replayed is not None:
                known[question.key] = replayed
            elif not any(self._will_follow(asking, question, other) for other in fresh):
                asking.reserved[question.key] = self._pay(asking, question)
                fresh.append(question)
        asking.charged()
        return known

    def _will_follow(self, asking: Asking, question: Question, other: Question) -> bool:
        """Whether a part will follow from another one of the statement once that is drawn."""
        asked, of = (described(q.part, q.values, asking.plan.data_version) for q in (question, other))
        own = question.part.mechanism
        if asked is None or of is None or own is None or other.part.loss.nano < question.part.loss.nano:
            return False
        summed = follows(of, other.part, asked, question.part)
        return summed is not None and worse(summed, own, alike=asking.alike) <= 1.0

    def _pay(self, asking: Asking, question: Question) -> Reservation:
        """Charge one part. Raises ``BudgetExceeded``."""
        charge = payment.charge(asking.caller, asking.plan, question.part, question.key)
        left = self._ledger.remaining(*charge.debits)
        if left is None or left >= charge.nano:  # else ``reserve`` refuses, and drawing would be for nothing
            self._release.prepare(question.part)
        asking.check()
        return self._ledger.reserve(charge)

    def _check_affordable(self, asking: Asking) -> None:
        """Refuse a statement of several parts before its first is paid for, where they do not all fit.

        Parts that were paid for before cost nothing; those that take values of earlier ones are not looked up.
        """
        missing = [p for p in asking.plan.charged if p.inputs or self.known(asking, p) is None]
        payment.check_together(missing, asking.plan.payer, asking.caller, self._ledger)

    def known(self, asking: Asking, part: Part) -> Drawn | None:
        """What a part without inputs would be answered from for nothing; None where it would cost something."""
        key = payment.release_key(part, (), asking.plan.data_version)
        found = self._paid(asking, Question(part, (), key))
        return None if found is None else found.drawn

    def counted(self, caller: Caller, plan: Plan) -> float | None:
        """The rows of the smallest of a plan's groups, as released to the caller; None where they were not."""
        asking = Asking(caller, plan, lambda: False)
        part = next((p for p in plan.charged if not p.inputs), None)
        asked = None if part is None else described(part, (), plan.data_version)
        numbers = None if asked is None else counting(asked)
        if part is None or numbers is None:
            return None
        for origin, _ in self._releases.paid(origins(numbers), asking.account):
            found = self._follows(origin, numbers, part) if self._deadlines.is_seen(origin) else None
            if found is not None:
                return min(float(values[0]) for values in found.released.value["v"].to_pylist())
        return None

    def _released(self, asking: Asking, question: Question) -> Found:
        """The released relation, from the store or anew, and what it cost this caller."""
        asking.check()
        paid = asking.reserved.pop(question.key, None)
        while True:
            replayed = None if paid else self._replay(asking, question)
            if replayed is not None:
                return replayed
            due = partial(self._deadlines.seen_from, asking.plan, asking.began)
            with self._flights.claim(question.key, WAIT, asking.cancelled, due) as claim:
                if not claim.owner:
                    continue
                replayed = None if paid else self._replay(asking, question, is_second=True)
                if replayed is not None:
                    return replayed
                released = self._release_anew(asking, question, paid)
                claim.resolve(b"stored")
                return Found(released, Cost.of(question.part.loss.nano, question.part.delta))

    def _replay(self, asking: Asking, question: Question, *, is_second: bool = False) -> Found | None:
        """A stored release that answers; None where there is none, or only one dearer than they can pay.

        A second look is for the same question alone: somebody may just have asked it.
        """
        plan, part = asking.plan, question.part
        paid = self._paid(asking, question, is_second=is_second)
        if paid is not None:
            return paid
        stored = self._found(asking, question)
        if stored is None:
            return None
        charge = payment.charge(asking.caller, plan, part, question.key)
        try:
            reservation = self._releases.adopt(stored, charge)
        except BudgetExceeded:
            if stored.nano == part.loss.nano:
                raise
            return None
        return replace(
            self._same(asking, question, stored), cost=Cost() if reservation is None else reservation.cost
        )

    def _found(self, asking: Asking, question: Question) -> Stored | None:
        """A stored release of the same question; one that may not be seen yet is there for its own statement only."""
        stored = self._releases.find(question.key, question.part.loss.nano, asking.account)
        if stored is None or stored.id in asking.fresh or self._deadlines.is_seen(stored.id):
            return stored
        return None

    def _paid(self, asking: Asking, question: Question, *, is_second: bool = False) -> Found | None:
        """What follows from a release that the caller has paid for: of the same question first."""
        stored = self._found(asking, question)
        if stored is not None and asking.account in stored.payers:
            return self._same(asking, question, stored)
        return None if is_second else self._derived(asking, question)

    def _same(self, asking: Asking, question: Question, stored: Stored) -> Found:
        """A release of the same question, its groups and sums in the order in which they are asked for."""
        part, loss = question.part, Loss(stored.nano)
        asked = described(part, question.values, asking.plan.data_version)
        of = self._descriptor(stored.id, stored.payload)
        table = payloads.unpacked(stored.payload)
        if asked is None or of is None:
            return Found(Released(table, loss))
        wanted, groups = payloads.wanted_of(part), payloads.groups_of(table)
        found = derivation(of, groups, asked, wanted)
        if found is None:
            raise Internal("a stored release is not what its key says")
        if groups != wanted or found.columns != tuple(range(part.measures)):
            table = payloads.derived(table, found, part)
        return Found(Released(table, loss), summed=Summed(of.mechanism, found.columns, 1))

    def _derived(self, asking: Asking, question: Question) -> Found | None:
        """The part as it follows from a stored release of other groups or more sums, the most accurate one."""
        part = question.part
        asked = described(part, question.values, asking.plan.data_version)
        if asked is None or part.mechanism is None:
            return None
        best: tuple[float, Found] | None = None
        for origin, nano in self._releases.paid(origins(asked), asking.account):
            if nano < part.loss.nano or not (origin in asking.fresh or self._deadlines.is_seen(origin)):
                continue
            worst = 1.0 if origin in asking.fresh else asking.worst
            found = self._follows(origin, asked, part)
            if found is None or found.summed is None:
                continue
            ratio = worse(found.summed, part.mechanism, alike=asking.alike)
            if ratio <= worst and (best is None or ratio < best[0]):
                best = ratio, found
        return None if best is None else best[1]

    def _follows(self, origin: int, asked: Descriptor, part: Part) -> Found | None:
        known = self._described.get(origin)
        payload = self._releases.load(origin) if known is None else None
        of = self._descriptor(origin, payload)
        if of is None or not could_follow(of, asked):
            return None
        payload = payload or self._releases.load(origin)
        if payload is None:
            return None
        table = payloads.unpacked(payload)
        found = derivation(of, payloads.groups_of(table), asked, payloads.wanted_of(part))
        if found is None:
            return None
        summed = Summed(of.mechanism, found.columns, found.most)
        return Found(Released(payloads.derived(table, found, part), part.loss), summed=summed)

    def _descriptor(self, origin: int, payload: bytes | None) -> Descriptor | None:
        """What a stored release is of; it is read once."""
        known = self._described.get(origin)
        if known is None:
            known = (None if payload is None else payloads.described_by(payload),)
            self._described.put(origin, known)
        return known[0]

    @contextmanager
    def _timed(self, asking: Asking, question: Question) -> Iterator[None]:
        """An exact stage runs, and how long it took is looked at, however it ends."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._deadlines.note(question.key, asking.plan, time.monotonic() - began)

    def _release_anew(
        self, asking: Asking, question: Question, paid: Reservation | None
    ) -> Released[pa.Table]:
        part, plan = question.part, asking.plan
        self._deadlines.check(question.key)
        reservation = paid or self._pay(asking, question)
        if paid is None:
            asking.charged()
        parameters = {str(n): v for (n, _), v in zip(part.inputs, question.values, strict=True)}
        if part.truncated:
            parameters["1"] = self._secret.hex()
        asked = part.exact, parameters, asking.caller.session
        run = partial(self._backend.run, *asked, cancelled=asking.cancelled, epoch=plan.epoch)
        with self._prepared.ready(part.prepares, asking.cancelled), self._timed(asking, question):
            if part.discovered:
                released = self._release.draw(part, run(select=self._release.selector(part)))
            else:
                few = part.key_types if part.mechanism is not None and part.groups <= FEW else None
                released = self._release.draw(part, run(few=few))
        of = described(part, question.values, plan.data_version)
        until = self._deadlines.seen_from(plan, asking.began)
        self._deadlines.hide(reservation.sequence, until)
        self._releases.store(reservation, payloads.packed(released.value, of), until)
        asking.fresh.add(reservation.sequence)
        return released
