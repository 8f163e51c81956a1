"""Of a changed policy what may come into force by itself: everything but what weakens the policy before.

A change is judged as by ``policy diff``. What a table declares of itself is kept together, of each column apart.
"""

from dataclasses import replace

from dpproxy.policy.apply import apply
from dpproxy.policy.difference import Difference, Effect, differences
from dpproxy.policy.dump import dump
from dpproxy.policy.model import Policy, TablePolicy
from dpproxy.policy.store import change_of
from dpproxy.values.errors import Refusal


def unweakened(before: Policy, after: Policy) -> tuple[Policy, list[Difference]]:
    """``after`` without what is weaker than ``before``, and what was left out.

    Where the rest does not stand by itself, nothing of ``after`` is taken.
    """
    found = differences(before, after)
    weaker = {d.declared for d in found if d.effect is Effect.WEAKER}
    if not weaker:
        return after, []
    kept = {_together(declared) for declared in weaker}
    left = [d for d in found if _together(d.declared) in kept]
    merged = _merged(before, after, kept)
    is_sound = _stands(merged) and all(d.effect is not Effect.WEAKER for d in differences(before, merged))
    return (merged, left) if is_sound else (before, found)


def _together(declared: tuple[str, ...]) -> tuple[str, ...]:
    """What is left as it is at once: a column, or all else of a table; of other things each alone."""
    return declared[:3] if declared[0] == "table" else declared


def _merged(before: Policy, after: Policy, kept: set[tuple[str, ...]]) -> Policy:
    def is_kept(kind: str, *names: str) -> bool:
        return (kind, *names) in kept

    tables = {}
    for name in {**before.tables, **after.tables}:
        old, new = (policy.tables.get(name, TablePolicy(name)) for policy in (before, after))
        own = old if is_kept("table", name, "") else new
        columns = {
            column: (old if is_kept("table", name, column) else new).columns.get(column)
            for column in {**old.columns, **new.columns}
        }
        known = {column: one for column, one in columns.items() if one is not None}
        if name in before.tables or own is new or known:
            tables[name] = replace(own, columns=known)
    budgets = {**before.budgets, **after.budgets}
    for name in [n for n in budgets if is_kept("budget", n)]:
        budgets[name] = before.budgets[name]
    grants = tuple(g for g in after.grants if not is_kept("grant", g.table, g.role, g.budget or ""))
    exact = tuple(g for g in after.exact if not is_kept("exact", g.table, g.role))
    views = {name: view for name, view in after.views.items() if not is_kept("view", name)}
    return replace(after, tables=tables, budgets=budgets, grants=grants, exact=exact, views=views)


def _stands(policy: Policy) -> bool:
    """Whether the statements of a policy make it again."""
    made = Policy(version=policy.version, data_version=policy.data_version)
    try:
        for sql in dump(policy):
            made = apply(made, change_of(sql), None)
    except Refusal:
        return False
    return dump(made) == dump(policy)
