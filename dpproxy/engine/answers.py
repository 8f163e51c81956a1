"""Runs a plan: each part is looked up or reserved, run, released and stored; then the answer is computed from them."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf
from typing import TypeVar

import pyarrow as pa
from msgspec.structs import replace

from dpproxy.accounting import sharing
from dpproxy.accounting.canonical import digest
from dpproxy.accounting.inflight import InFlight
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import Charge, Cost, Drawing, Reservation
from dpproxy.accounting.releases import ReleaseStore
from dpproxy.algebra import printing
from dpproxy.algebra.plan import Answer, Caller, Drawn, Part, Plan, PublicPlan
from dpproxy.backends.columns import FEW
from dpproxy.backends.duckdb.prepared import PreparedTables
from dpproxy.backends.release import Relations, ReleaseStage, Rows
from dpproxy.backends.source import Source
from dpproxy.engine import output, payloads, payment
from dpproxy.engine.accuracy import accuracy_notice, half_widths, presented
from dpproxy.engine.deadlines import Deadlines
from dpproxy.engine.means import PartAnswer
from dpproxy.engine.questions import (
    Question,
    Replan,
    as_planned,
    as_released,
    derived_sum,
    independent,
    noise_ratio,
)
from dpproxy.engine.replays import Execution, Replays
from dpproxy.planner.access import Estimates
from dpproxy.values.recent import Recent
from udfs.privacy import Loss, Released

Reserved = TypeVar("Reserved", bound=Reservation | Drawing)
WAIT = 60.0
"""Seconds to wait for another caller whose statement releases the same part."""

CONSTANTS = 256
"""The most answers that are kept of statements that read nothing."""
LONGEST_KEPT = 2_000
"""The most characters of such a statement."""
POLL = 0.02
"""Seconds between two checks of whether a waiting caller has cancelled."""


def may_be_kept(plan: Plan) -> bool:
    """Whether an answer that costs nothing is a small one that stays the same until something is charged."""
    is_large = plan.groups > FEW or plan.discovered  # unpacking it would hold up the event loop
    is_open = plan.empty or plan.publics or plan.checks or any(p.vacuous or p.inputs for p in plan.parts)
    return not is_large and not is_open


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
        self._flights = InFlight[bytes]()
        self._deadlines = Deadlines(padding)
        self.replays = Replays(self._releases, self._deadlines)
        self._release = ReleaseStage()
        self._constants = Recent[Rows](CONSTANTS)

    def rows(self, execution: Execution, replan: Replan) -> tuple[Sequence[tuple[object, ...]], Cost]:
        """The rows of the answer, and their cost to this caller. Raises a ``Refusal``."""
        plan = execution.plan
        cost = Cost()
        if plan.empty:
            return [], cost
        # Public tables first: one that is too large is refused before anything is charged.
        publics = [self._backend.run_open(query, execution.caller.session) for query in plan.publics]
        relations: Relations = []
        drawn: list[Drawn] = []
        try:
            while len(relations) < len(plan.parts):
                for part, found in self._together(execution, relations, publics):
                    relations.append((part, found.released))
                    drawn.append(found.drawn)
                    cost += found.cost
        finally:
            lost = [paid for paid in execution.paid if paid.sequence not in execution.fresh]
            for paid in lost:
                self._releases.give_up(paid, self._deadlines.seen_from(plan, execution.start))
        shown = as_released(plan, drawn, replan)
        rows = self._release.answer(shown, relations, publics, execution.caller.session)
        for check in shown.checks:
            count = int(str(self._release.value(check.sql, relations, publics)))
            execution.notices.extend([payment.contradiction_notice(check, count)] if count else [])
        values = self._shown(execution, shown, rows)
        most = max((d.draws for d in drawn), default=1)
        execution.notices.extend([payment.average_notice(most)] if most > 1 else [])
        together = max((d.together for d in drawn), default=0)
        execution.notices.extend([payment.together_notice(together)] if together else [])
        execution.notices.extend(
            dict.fromkeys(payment.cube_notice(d.fitted) for d in drawn if d.fitted is not None)
        )
        return values, cost

    def _shown(
        self, execution: Execution, plan: Plan, rows: Sequence[tuple[object, ...]]
    ) -> Sequence[tuple[object, ...]]:
        """The rows as the client sees them; the notice about their accuracy is added to the execution's."""
        values = output.convert(plan.outputs, rows)
        accuracy = accuracy_notice(plan, rows, values, None if plan is execution.plan else execution.plan)
        execution.notices.extend([] if accuracy is None else [accuracy])
        return presented(plan, rows, values)

    def earlier(self, caller: Caller, plan: Plan) -> Estimates | None:
        """What a plan would show of what the caller has paid for, with its half-widths; None where not for all."""
        rows = self.earlier_rows(caller, plan)
        return None if rows is None else (output.convert(plan.outputs, rows), half_widths(plan, rows))

    def earlier_rows(self, caller: Caller, plan: Plan) -> Rows | None:
        """The rows of a plan's answer stage as the caller has paid for its parts at any epsilon.

        What else the plan computes of them, half-widths above all, is of its own epsilon.
        """
        if plan.publics or any(part.inputs for part in plan.parts):
            return None
        execution = Execution(caller, plan, lambda: False, inf, alone=True)
        relations: Relations = []
        for part in plan.parts:
            question = self.replays.question(execution, replace(part, loss=Loss(1)))
            found = None if part.vacuous else self.replays.free_answer(execution, question)
            if found is None and not part.vacuous:
                return None
            relations.append((part, self._release.zeros(part) if found is None else found.released))
        return self._release.answer(plan, relations, [], caller.session)

    def at_hand(
        self, execution: Execution, replan: Callable[[tuple[Drawn, ...]], Plan | None]
    ) -> Sequence[tuple[object, ...]] | None:
        """The rows that ``rows`` would return, where all parts are in memory and paid for by the caller; else None.

        Never waits. ``replan`` only looks plans up in the cache.
        """
        plan = execution.plan
        if not may_be_kept(plan):
            return None
        relations: Relations = []
        drawn: list[Drawn] = []
        for part in plan.parts:
            question = self.replays.cached_question(execution, part)
            found = None if question is None else self.replays.single_release(execution, question)
            if found is None:
                return None
            relations.append((part, found.released))
            drawn.append(found.drawn)
        known = plan if as_planned(plan, drawn) else replan(tuple(drawn))
        if known is None:
            return None
        shown = as_released(plan, drawn, lambda _: known)
        rows = self._release.again(shown, relations)
        return None if rows is None else self._shown(execution, shown, rows)

    def public(self, plan: PublicPlan, session: str) -> Answer:
        """The answer to a statement over public data, or over protected data that the caller may read exactly."""
        if plan.portion:
            return output.streamed_answer(
                plan.outputs, self._backend.run_portions(plan.query, plan.portion, session)
            )
        found = (
            self._constant(printing.text(plan.query), session)
            if plan.constant
            else self._backend.run_public(plan.query, session)
        )
        rows = output.convert(plan.outputs, found)
        return Answer(f"SELECT {len(rows)}", rows=rows)

    def kept(self, plan: PublicPlan) -> Rows | None:
        """The rows of a statement that reads nothing, where they were answered before; never waits."""
        if not plan.constant or plan.exact or plan.view or plan.portion:
            return None
        rows = self._constants.get(printing.text(plan.query))
        return None if rows is None else output.convert(plan.outputs, rows)

    def _constant(self, sql: str, session: str) -> Rows:
        """Rows of a statement that reads nothing, run where no data is, or kept from another time."""
        rows = self._constants.get(sql)
        if rows is None:
            rows = self._release.constant(sql, session)
            if len(rows) <= FEW and len(sql) <= LONGEST_KEPT:
                self._constants.put(sql, rows)
        return rows

    def interrupt(self, session: str) -> None:
        """Stop the queries of a session; reserved charges stay charged."""
        self._backend.interrupt(session)
        self._release.interrupt(session)

    def close(self) -> None:
        """Discard noise that was prepared and not used."""
        self._release.close()

    def _together(
        self, execution: Execution, earlier: Relations, publics: Sequence[pa.Table]
    ) -> list[tuple[Part, PartAnswer]]:
        """Release the next run of parts that do not depend on each other; all are charged before the first is run.

        Others can observe when an account is debited: a debit between two parts would show how long the first one took.
        A part that takes values of earlier parts is therefore charged at a point of the statement's padding grid.
        """
        parts = independent(execution.plan.parts[len(earlier) :], len(earlier))
        if execution.fresh:
            self._wait(execution)
        questions = [self._question(execution, p, earlier, publics) for p in parts if not p.vacuous]
        if not earlier and len(execution.plan.charged) > 1:
            self._check_affordable(execution)
        known = self._reserve(execution, questions) if len(questions) > 1 else {}
        given, found = iter(questions), list[tuple[Part, PartAnswer]]()
        for number, part in enumerate(parts, len(earlier)):
            if part.vacuous:
                answer = PartAnswer(self._release.zeros(part))
            else:
                question = next(given)
                replayed = known.pop(question.key, None)
                answer = self._released(execution, question) if replayed is None else replayed
            execution.released[number] = answer.released
            found.append((part, answer))
        return found

    def _question(
        self, execution: Execution, part: Part, earlier: Relations, publics: Sequence[pa.Table]
    ) -> Question:
        return self.replays.question(execution, part, self._release.inputs(part, earlier, publics))

    def _wait(self, execution: Execution) -> None:
        """Wait until the releases that the statement has drawn so far may become visible to others."""
        until = self._deadlines.seen_from(execution.plan, execution.start)
        while (left := until - time.monotonic()) > 0:
            execution.check()
            time.sleep(min(left, POLL))

    def _reserve(self, execution: Execution, questions: Sequence[Question]) -> dict[bytes, PartAnswer]:
        """Charge the parts that need a new draw; returns those that the store answers, by their keys."""
        known: dict[bytes, PartAnswer] = {}
        fresh: list[Question] = []
        for question in questions:
            self._deadlines.check(question.key)
        for question in questions:
            if question.key in execution.reservations or question.key in known:
                continue
            replayed = self._replay(execution, question)
            if replayed is not None:
                known[question.key] = replayed
            elif not any(self._will_follow(execution, question, other) for other in fresh):
                paid = self._pay_once(execution, question)
                if isinstance(paid, PartAnswer):
                    known[question.key] = paid
                else:
                    execution.reservations[question.key] = paid
                    fresh.append(question)
        execution.on_charge(execution.reservations[fresh[-1].key] if fresh else None)
        return known

    def _will_follow(self, execution: Execution, question: Question, other: Question) -> bool:
        """Whether a part can be derived from another part of the statement, once that one is drawn."""
        asked, of = question.asked, other.asked
        own = question.part.mechanism
        if asked is None or of is None or own is None or other.part.loss.nano < question.part.loss.nano:
            return False
        summed = derived_sum(of, other.part, asked, question.part)
        return summed is not None and noise_ratio(summed, own, alike=execution.alike) <= 1.0

    def _pay_once(self, execution: Execution, question: Question) -> Reservation | PartAnswer:
        """As ``_pay``; where another caller, of any process, has just paid for the same release, it is waited for.

        But not by who has charges for what is not drawn yet: two such statements would wait for each other.
        """
        if execution.reservations or not execution.reuse:
            return self._pay(execution, question)
        lost, shares = 0, execution.plan.payer.shares
        while True:
            once = partial(self._ledger.reserve_once, lost=lost, shares=shares)
            paid = self._charge(execution, question, once)
            if isinstance(paid, Reservation):
                return paid
            until = time.monotonic() + paid.left
            while time.monotonic() < until and not self._releases.is_settled(paid.origin):
                execution.check()
                time.sleep(POLL)
            replayed = self._replay(execution, question)
            if replayed is not None:
                return replayed
            lost = paid.origin

    def _pay(self, execution: Execution, question: Question) -> Reservation:
        """Charge one part, once the data source has accepted them all. Raises ``BudgetExceeded``, ``Unsupported``."""
        return self._charge(execution, question, self._ledger.reserve)

    def _charge(
        self, execution: Execution, question: Question, reserve: Callable[[Charge], Reserved]
    ) -> Reserved:
        self._deadlines.check(question.key)
        for part in () if execution.accepted else execution.plan.charged:
            exact = part.exact
            if exact not in execution.accepted:
                self._backend.check(part.query, part.prepares)
                execution.accepted.add(exact)
        charge = payment.charge(execution.caller, execution.plan, question.part, question.key)
        if question.part.groups <= FEW or self._can_pay(charge):
            self._release.prepare(question.part)
        execution.check()
        paid = reserve(charge)
        if isinstance(paid, Reservation):
            execution.paid.append(paid)
        return paid

    def _can_pay(self, charge: Charge) -> bool:
        """Whether every account has enough left; where not, ``reserve`` will refuse and preparing noise is wasted."""
        left = self._ledger.remaining(*charge.debits)
        return left is None or left >= charge.nano

    def _check_affordable(self, execution: Execution) -> None:
        """Refuse a statement before its first part is charged, where the limits do not allow all parts together.

        Parts the caller has paid for before cost nothing; parts that take values of earlier ones are counted in full.
        """
        missing = [
            p for p in execution.plan.charged if p.inputs or self.replays.free_draw(execution, p) is None
        ]
        payment.check_together(missing, execution.plan.payer, execution.caller, self._ledger)

    def _released(self, execution: Execution, question: Question) -> PartAnswer:
        """The released relation of one part, from the store or newly drawn, with its cost to this caller."""
        execution.check()
        paid = execution.reservations.pop(question.key, None)
        if paid is not None:  # waits for nobody, since others may wait for its answer
            return self._bought(execution, question, paid)
        due = partial(self._deadlines.seen_from, execution.plan, execution.start)
        # Sessions of one user wait for each other here; for those of others the ledger, which knows who could pay.
        flight = digest("flight", 1, question.key, *sharing.own(execution.plan, execution.caller.user).own)
        while True:
            replayed = self._replay(execution, question)
            if replayed is not None:
                return replayed
            with self._flights.claim(flight, WAIT, execution.cancelled, due) as claim:
                if not claim.owner:
                    continue
                replayed = None if claim.is_first else self._replay(execution, question, is_second=True)
                found = replayed or self._pay_once(execution, question)
                if isinstance(found, Reservation):
                    execution.on_charge(found)
                    found = self._bought(execution, question, found)
                claim.resolve(b"stored")
                return found

    def _bought(self, execution: Execution, question: Question, paid: Reservation) -> PartAnswer:
        """A new draw, with what the caller has of earlier ones."""
        released = self._release_anew(execution, question, paid)
        bought = PartAnswer(released, Cost.of(question.part.loss.nano, question.part.delta))
        return self._on_record(execution, question, self.replays.with_earlier(execution, question, bought))

    def _replay(
        self, execution: Execution, question: Question, *, is_second: bool = False
    ) -> PartAnswer | None:
        """A stored release that answers; None where there is none, or only a dearer one that somebody else paid for.

        ``is_second`` looks for a release of the same part only, which another caller may just have stored.
        """
        plan, part = execution.plan, question.part
        stored = self.replays.stored_release(execution, question)
        paid = self.replays.if_paid(execution, question, stored)
        if paid is None and not is_second:
            paid = self.replays.derived_answer(execution, question)
        if paid is not None:
            return self._on_record(execution, question, paid)
        # A dearer one would cost its full loss: more than EXPLAIN showed, and maybe more than MAX EPSILON allows.
        if stored is None or stored.nano != part.loss.nano:
            return None
        reservation = self._releases.adopt(stored, payment.charge(execution.caller, plan, part, question.key))
        cost = Cost() if reservation is None else reservation.cost
        bought = replace(self.replays.as_asked(question, stored), cost=cost)
        return self.replays.with_earlier(execution, question, bought)

    def _on_record(self, execution: Execution, question: Question, answer: PartAnswer) -> PartAnswer:
        """The answer, once the ledger says that the caller reads what others of a budget that shares have paid for."""
        if execution.plan.payer.shares:
            asked = payment.charge(execution.caller, execution.plan, question.part, question.key)
            self._releases.read([o for o in answer.origins if o not in execution.fresh], asked)
        return answer

    @contextmanager
    def _timed(self, execution: Execution, question: Question) -> Iterator[None]:
        """Measure how long an exact stage runs, however it ends."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._deadlines.note(question.key, execution.plan, time.monotonic() - began)

    def _release_anew(
        self, execution: Execution, question: Question, reservation: Reservation
    ) -> Released[pa.Table]:
        self._deadlines.check(question.key)
        part, plan = question.part, execution.plan
        parameters = {str(i.number): v for i, v in zip(part.inputs, question.values, strict=True)}
        if part.truncated:
            parameters["1"] = self._secret.hex()
        asked = part.query, parameters, execution.caller.session
        run = partial(self._backend.run, *asked, cancelled=execution.cancelled, epoch=plan.epoch)
        with self._prepared.ready(part.prepares, execution.cancelled), self._timed(execution, question):
            if part.discovered:
                released = self._release.discover(part, lambda select: run(select=select))
            else:
                few = part.key_types if part.mechanism is not None and part.groups <= FEW else None
                again = part.mechanism is None and sum(p.query == part.query for p in plan.parts) > 1
                key = (part.query, question.values) if again else None
                points = None if part.points is None else execution.released[part.points]
                exact = execution.histograms.of(key, partial(run, few=few))
                released = self._release.draw(part, exact, points)
        until = self._deadlines.seen_from(plan, execution.start)
        self._deadlines.hide(reservation.sequence, until)
        self._releases.store(reservation, payloads.pack(released.value, question.asked), until)
        self.replays.describe(reservation.sequence, question.asked)
        execution.fresh.add(reservation.sequence)
        return released
