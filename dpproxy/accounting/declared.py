"""Notices after a statement that changed the policy: what changed, and which policy file contradicts it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from dpproxy.accounting import spending
from dpproxy.accounting.accounts import as_epsilon
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import Debit, format_epsilon
from dpproxy.algebra.plan import Notice
from dpproxy.policy.difference import Difference, Effect, differences
from dpproxy.policy.dump import Subject
from dpproxy.policy.files import apply_file, read_file, without_weakening
from dpproxy.policy.model import Policy
from dpproxy.values.errors import StartupError
from dpproxy.values.pgtypes import Schema


def changed(before: Policy, after: Policy, files: Sequence[Path], schema: Schema) -> tuple[Notice, ...]:
    """One notice for each declaration that differs, in the words of ``policy diff``."""
    found = differences(before, after)
    hints = dict(_hints(after, files, schema)) if found else {}
    return tuple(_notice(each, hints.get(each.declared)) for each in found)


def _notice(found: Difference, hint: str | None) -> Notice:
    mark = "" if found.effect is Effect.SAME else f" [{found.effect.value}]"
    was = found.was or "nothing"
    return Notice(
        f"{found.subject}{mark}: {found.meaning}",
        detail=f"was: {was}; now: {found.now or 'nothing'}",
        hint=hint,
    )


def _hints(policy: Policy, files: Sequence[Path], schema: Schema) -> Iterator[tuple[Subject, str]]:
    """For each declaration that the files would change: which file does, and what the next start makes of it.

    The last file with a declaration decides on it.
    """
    made, says = policy, dict[Subject, tuple[Path, Difference]]()
    for path in files:
        try:
            after = apply_file(made, read_file(path), schema)
        except StartupError:  # the next start reports the fault and applies no file
            break
        says |= {d.declared: (path, d) for d in differences(made, after)}
        made = after
    left = {d.declared for d in without_weakening(policy, made)[1]}
    for each in differences(policy, made):
        path, found = says[each.declared]
        then = _STAYS if each.declared in left else _CHANGES
        yield each.declared, f"{path} still says otherwise: {found.now or 'nothing'}. {then}"


_STAYS = "A start leaves it as it is now; dpproxy policy apply would have it as the file says."
_CHANGES = "The next start has it as the file says, unless you change the file, too."


def overspent(before: Policy, after: Policy, ledger: Ledger) -> Iterator[Notice]:
    """Notices for ceilings and budgets whose new limit is below what is spent already."""
    for name, table in after.tables.items():
        was = before.tables.get(name)
        if table.ceiling is not None and (was is None or was.ceiling != table.ceiling):
            yield from _above(f'the ceiling of table "{name}"', spending.ceiling(table), ledger)
    nobody = spending.Asker("", "")
    for name, budget in after.budgets.items():
        if before.budgets.get(name) != budget:
            yield from _above(
                f'the limit of budget "{name}"', spending.debits(after, budget, nobody)[0], ledger
            )


def _above(what: str, debit: Debit, ledger: Ledger) -> Iterator[Notice]:
    [found] = ledger.standings(debit)
    spent, limit = as_epsilon(found.spent, debit), debit.limit
    if limit is not None and spent > limit:
        told = f"epsilon {format_epsilon(limit)} where epsilon {format_epsilon(spent)} was spent"
    elif debit.delta_limit is not None and found.spent.delta > debit.delta_limit:
        told = "in delta"
    else:
        return
    yield Notice(
        f"{what} is below what was spent of it: {told}",
        detail="What was spent stays spent. Nothing more is paid from it; what was released is answered again.",
    )
