"""From a plan to its rows, part by part: replay? reserve, run, release, keep; then the answer over all of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from dpproxy import output, payment
from dpproxy.accounting.inflight import InFlight
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import Account, Cost
from dpproxy.accounting.releases import ReleaseStore
from dpproxy.backends.columns import FEW
from dpproxy.backends.prepared import PreparedTables
from dpproxy.backends.release import Relations, Release
from dpproxy.backends.source import Source
from dpproxy.errors import BudgetExceeded, Cancelled
from dpproxy.plan import Caller, Part, Plan
from udfs.privacy import Loss, Released

WAIT = 60.0
"""Seconds to wait for the same question asked by somebody else."""

Replan = Callable[[tuple[Loss, ...]], Plan]
"""The plan again, for the losses its parts were released at."""


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks which plan; ``cancelled`` says whether they changed their mind."""

    caller: Caller
    plan: Plan
    cancelled: Callable[[], bool]

    def check(self) -> None:
        """Raise ``Cancelled``."""
        if self.cancelled():
            raise Cancelled("canceling statement due to user request")


@dataclass(frozen=True, slots=True)
class Question:
    """One part with the values it takes, and the key its release is found by."""

    part: Part
    values: tuple[object, ...] = field(repr=False)
    key: bytes


class Answers:
    """Runs plans; its methods may be called from any thread."""

    def __init__(self, backend: Source, ledger: Ledger, secret: bytes, prepared: PreparedTables) -> None:
        self._backend = backend
        self._prepared = prepared
        self._ledger = ledger
        self._secret = secret
        self._releases = ReleaseStore(ledger)
        self._flights = InFlight[bytes]()
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
        for part in plan.parts:
            released, paid = self._part(asking, part, relations, publics)
            relations.append((part, released))
            cost += paid
        shown = _as_released(plan, [released.loss for _, released in relations], replan)
        rows = self._release.answer(shown, relations, publics, asking.caller.session)
        return output.convert(plan.outputs, rows), cost

    def interrupt(self, session: str) -> None:
        """Stop what a session runs; what it reserved stays charged."""
        self._backend.interrupt(session)
        self._release.interrupt(session)

    def close(self) -> None:
        """Drop the draws."""
        self._release.close()

    def _part(
        self, asking: Asking, part: Part, earlier: Relations, publics: Sequence[pa.Table]
    ) -> tuple[Released[pa.Table], Cost]:
        if part.vacuous:
            return self._release.zeros(part), Cost()
        values = tuple(self._release.value(sql, earlier, publics) for _, sql in part.inputs)
        question = Question(part, values, payment.release_key(part, values, asking.plan.data_version))
        if not earlier and len(asking.plan.charged) > 1:
            self._check_affordable(asking, question)
        return self._released(asking, question)

    def _check_affordable(self, asking: Asking, first: Question) -> None:
        """Refuse a statement of several parts before its first is paid for, where they do not all fit.

        Parts that were paid for before cost nothing; those that take values of earlier ones are not looked up.
        """
        plan = asking.plan
        own = Account.user(plan.payer.budget, asking.caller.user)
        missing = Cost()
        for part in plan.charged:
            key = first.key if part is first.part else payment.release_key(part, (), plan.data_version)
            stored = None if part.inputs else self._releases.find(key, part.loss.nano, own)
            missing += (
                Cost.of(part.loss.nano, part.delta) if stored is None or own not in stored.payers else Cost()
            )
        charge = payment.charge(asking.caller, plan, first.part, first.key)
        self._ledger.check(charge.debits, missing)

    def _released(self, asking: Asking, question: Question) -> tuple[Released[pa.Table], Cost]:
        """The released relation, from the store or anew, and what it cost this caller."""
        asking.check()
        while True:
            replayed = self._replay(asking, question)
            if replayed is not None:
                return replayed
            with self._flights.claim(question.key, WAIT, asking.cancelled) as claim:
                if not claim.owner:
                    continue
                replayed = self._replay(asking, question)
                if replayed is not None:
                    return replayed
                released = self._release_anew(asking, question)
                claim.resolve(b"stored")
                return released, Cost.of(question.part.loss.nano, question.part.delta)

    def _replay(self, asking: Asking, question: Question) -> tuple[Released[pa.Table], Cost] | None:
        """A stored release of the same question; None where there is none, or only one dearer than they can pay."""
        plan, part = asking.plan, question.part
        own = Account.user(plan.payer.budget, asking.caller.user)
        stored = self._releases.find(question.key, part.loss.nano, own)
        if stored is None:
            return None
        cost = Cost()
        if own not in stored.payers:  # who has paid once has paid
            charge = payment.charge(asking.caller, plan, part, question.key)
            try:
                reservation = self._releases.adopt(stored, charge)
            except BudgetExceeded:
                if stored.nano == part.loss.nano:
                    raise
                return None
            cost = Cost() if reservation is None else reservation.cost
        table = pa.ipc.open_stream(stored.payload).read_all()
        return Released(table, Loss(stored.nano)), cost

    def _release_anew(self, asking: Asking, question: Question) -> Released[pa.Table]:
        part, plan = question.part, asking.plan
        charge = payment.charge(asking.caller, plan, part, question.key)
        left = self._ledger.remaining(*charge.debits)
        if left is None or left >= charge.nano:  # else ``reserve`` refuses, and drawing would be for nothing
            self._release.prepare(part)
        asking.check()
        reservation = self._ledger.reserve(charge)
        parameters = {str(n): v for (n, _), v in zip(part.inputs, question.values, strict=True)}
        if part.truncated:
            parameters["1"] = self._secret.hex()
        run = partial(
            self._backend.run, part.exact, parameters, asking.caller.session, cancelled=asking.cancelled
        )
        with self._prepared.ready(part.prepares, asking.cancelled):
            if part.discovered:
                released = self._release.draw(part, run(select=self._release.selector(part)))
            else:
                few = part.key_types if part.mechanism is not None and part.groups <= FEW else None
                released = self._release.draw(part, run(few=few))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, released.value.schema) as writer:
            writer.write_table(released.value)
        self._releases.store(reservation, sink.getvalue().to_pybytes())
        return released


def _as_released(plan: Plan, losses: Sequence[Loss], replan: Replan) -> Plan:
    """Where a more accurate release was stored, its own error applies."""
    if all(p.vacuous or p.loss == loss for p, loss in zip(plan.parts, losses, strict=True)):
        return plan
    better = replan(tuple(losses))
    same = [(p.exact, p.box) for p in better.parts] == [(p.exact, p.box) for p in plan.parts]
    return better if same else plan
