"""The differences between two policies, and in words what each one means for guarantees and budgets.

A change is *weaker* where more can be learned about somebody than before, *stronger* where less can; what was released
before stays known in any case.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any

from msgspec import Struct

from dpproxy.policy.dump import Subject, decimal, named_statements, option_text
from dpproxy.policy.interval import CalendarInterval
from dpproxy.policy.model import (
    CUBE,
    Between,
    Budget,
    Ceiling,
    ColumnPolicy,
    Discovered,
    Exposure,
    Members,
    OptionValue,
    Policy,
    ProtectedView,
    TablePolicy,
    Unit,
)


class Effect(Enum):
    """Whether more or less can be learned about somebody after a change."""

    WEAKER = "weaker"
    STRONGER = "stronger"
    SAME = "same"


Meaning = tuple[Effect, str]
_WEAKER, _STRONGER, _SAME = Effect.WEAKER, Effect.STRONGER, Effect.SAME


class Difference(Struct, frozen=True):
    """One declaration that differs: the statements that made it, None where there was or will be none.

    ``declared`` is its subject, as ``dump.named_statements`` returns it.
    """

    declared: Subject
    subject: str
    was: str | None
    now: str | None
    effect: Effect
    meaning: str


def differences(before: Policy, after: Policy) -> list[Difference]:
    """The declarations that differ, in the order of ``dump``, removed ones first."""
    old, new = dict(named_statements(before)), dict(named_statements(after))
    subjects = [s for s in old if s not in new] + [s for s in new if old.get(s) != new[s]]
    return [
        Difference(s, _title(s), old.get(s), new.get(s), *_together(_MEANINGS[s[0]](s, before, after)))
        for s in subjects
    ]


def _title(subject: Subject) -> str:
    kind, *names = subject
    match kind:
        case "table":
            table, column, _ = names
            return f"table {table}" + (f", column {column}" if column else "")
        case "grant" | "exact":
            return f"{'EXACT ' if kind == 'exact' else ''}SELECT on {names[0]} to {names[1]}"
        case _:
            return f"{kind} {names[0]}"


def _together(meanings: Iterator[Meaning]) -> Meaning:
    found = list(meanings)
    effects = {effect for effect, _ in found}
    effect = next((e for e in (_WEAKER, _STRONGER) if e in effects), _SAME)
    return effect, "; ".join(text for _, text in found)


# --- tables -----------------------------------------------------------------------------------------


def _table(subject: Subject, before: Policy, after: Policy) -> Iterator[Meaning]:
    _, table, column, word = subject
    old, new = (policy.tables.get(table, TablePolicy(table)) for policy in (before, after))
    if column:
        held = ColumnPolicy()
        yield from _DECLARED_OF_COLUMNS[word](old.columns.get(column, held), new.columns.get(column, held))
    else:
        yield from _DECLARED[word.split()[0]](old, new)


def _exposure(old: TablePolicy, new: TablePolicy) -> Iterator[Meaning]:
    match old.exposure, new.exposure:
        case Exposure.PROTECTED, Exposure.PROTECTED:
            yield from _unit(old.unit or Unit(None), new.unit or Unit(None))
        case Exposure.PROTECTED, Exposure.PUBLIC:
            yield _WEAKER, "its rows are shown as they are, for nothing"
        case _, Exposure.PUBLIC:
            yield _WEAKER, "its rows may be read as they are"
        case Exposure.PUBLIC, Exposure.PROTECTED:
            yield _STRONGER, "it is answered with noise, for a price; what was read stays known"
        case _, Exposure.PROTECTED:
            yield _WEAKER, "it may be asked about, with noise and for a price"
        case Exposure.HIDDEN, _:
            yield _SAME, "it exists for nobody, as before"
        case _:
            yield _STRONGER, "it does not exist for anybody any more"


def _owner(unit: Unit) -> str:
    """The key, and the table that it refers to: without that, a reference that goes would not show."""
    return str(unit.key) if unit.references is None else f"{unit.key} of {unit.references[0]}"


def _unit(old: Unit, new: Unit) -> Iterator[Meaning]:
    if old.key is not None and new.key is None:
        yield _WEAKER, f"guarantees are about one row, no longer about all rows of one {old.key}"
    elif old.key is None and new.key is not None:
        yield _STRONGER, f"guarantees are about all rows of one {new.key} together"
    elif (old.key, old.references) != (new.key, new.references):
        yield _WEAKER, f"guarantees are about one {_owner(new)}, no longer about one {_owner(old)}"
    if old.max_rows != new.max_rows:
        effect, noise = (
            (_WEAKER, "more noise")
            if new.max_rows > old.max_rows
            else (_STRONGER, "less noise, and rows beyond are left out")
        )
        yield effect, f"up to {new.max_rows} rows of a unit count, it was {old.max_rows}: {noise}"
    if old.groups != new.groups and old.max_rows == new.max_rows:
        effect = _WEAKER if new.groups > old.groups else _STRONGER
        yield effect, f"up to {new.groups} groups of a unit count, it was {old.groups}"


def _ceiling(old: TablePolicy, new: TablePolicy) -> Iterator[Meaning]:
    was, now = old.ceiling, new.ceiling
    if was is None and now is not None:
        yield _WEAKER, f"statements are answered until {_loss(now)} is learned about one unit"
    elif now is None:
        yield _STRONGER, "nothing is answered about its units any more"
    elif was is not None:
        yield from _moved(was.epsilon, now.epsilon, "epsilon may be learned about one unit")
        yield from _moved(was.delta, now.delta, "delta")
        if was.accountant is not now.accountant:
            effect = _WEAKER if now.concentrated else _STRONGER
            yield effect, f"losses add up by {now.accountant.value}, it was {was.accountant.value}"


def _loss(ceiling: Ceiling) -> str:
    delta = f" (delta {decimal(ceiling.delta)})" if ceiling.delta else ""
    return f"epsilon {decimal(ceiling.epsilon)}{delta}"


def _moved(was: Fraction, now: Fraction, what: str) -> Iterator[Meaning]:
    if was != now:
        effect, word = (_WEAKER, "more") if now > was else (_STRONGER, "less")
        rest = "" if now > was else "; what was spent stays spent"
        yield effect, f"{decimal(abs(now - was))} {word} {what}{rest}"


def _blocks(_: TablePolicy, new: TablePolicy) -> Iterator[Meaning]:
    if new.blocks is None:
        yield _STRONGER, "the ceiling counts every release for everybody"
    else:
        yield (
            _WEAKER,
            f"the ceiling counts for each {new.blocks} apart: releases about other people are not added",
        )


def _domain(old: ColumnPolicy, new: ColumnPolicy) -> Iterator[Meaning]:
    match old.domain, new.domain:
        case _, Discovered():
            yield _WEAKER, "values that enough units share are shown as keys, for delta"
        case Discovered(), _:
            yield _STRONGER, "values are no longer read from rows to be shown as keys"
        case None, _:
            yield _WEAKER, "the column can be computed with and grouped by"
        case _, None:
            yield _STRONGER, "the column has no bounds any more: most statements with it are refused"
        case Between() as was, Between() as now:
            yield _SAME, _bounds(was, now)
        case Members() as was, Members() as now:
            yield _SAME, _members(was, now)
        case _:
            yield _SAME, "other values, and other noise, in what is asked from now on"


def _bounds(was: Between, now: Between) -> str:
    def width(domain: Between) -> Any:  # noqa: ANN401 - numbers or spans of time
        return domain.high - domain.low  # type: ignore[operator]

    if was.outside is not now.outside:
        return f"values outside become {'NULL' if now.outside.value == 'NULL' else 'the nearest bound'}"
    if was.not_null is not now.not_null:
        return (
            "NULL becomes the middle"
            if now.not_null
            else "NULL stays NULL: counts of values, and averages, change"
        )
    wider = width(now) > width(was)
    return "wider bounds: more noise" if wider else "other bounds: values outside are moved to them"


def _members(was: Members, now: Members) -> str:
    added, gone = (len(set(a.values) - set(b.values)) for a, b in ((now, was), (was, now)))
    return f"{added} values more and {gone} less are keys; values that are none count in no group"


def _saying(text: str) -> Callable[..., Iterator[Meaning]]:
    return lambda *_: iter([(_SAME, text)])


def _foreign_keys(old: TablePolicy, new: TablePolicy) -> Iterator[Meaning]:
    if set(new.foreign_keys) - set(old.foreign_keys):
        yield _WEAKER, "rows of one unit may be joined along it, and its columns counted"
    else:
        yield _STRONGER, "its columns are no longer joined and counted"


_SHOWN_BESIDE = "notices and EXPLAIN say what share of people the limits leave whole"
_DECLARED: dict[str, Callable[[TablePolicy, TablePolicy], Iterator[Meaning]]] = {
    "EXPOSURE": _exposure,
    "CEILING": _ceiling,
    "EXPECTED": _saying("deadlines and predicted errors follow the declared number of rows"),
    "BLOCKS": _blocks,
    "DOMAIN": _saying("other combinations of keys are answered"),
    "FOREIGN": _foreign_keys,
    "QUANTILES": _saying(_SHOWN_BESIDE),
}
"""What is declared of a table, by the keyword of the clause."""
_DECLARED_OF_COLUMNS: dict[str, Callable[[ColumnPolicy, ColumnPolicy], Iterator[Meaning]]] = {
    "HIDDEN": _saying("the column is declared and has neither domain nor class"),
    "DOMAIN": _domain,
    "CLASS": _saying("protected views treat it so from their next build on"),
    "QUANTILES": _saying(_SHOWN_BESIDE),
}


# --- budgets, grants, views -------------------------------------------------------------------------


def _budget(subject: Subject, before: Policy, after: Policy) -> Iterator[Meaning]:
    was, now = before.budgets.get(subject[1]), after.budgets.get(subject[1])
    if was is None and now is not None:
        yield _SAME, f"whom it is granted to may spend epsilon {decimal(now.limit)} of it"
        yield from _sharing(now) if now.shares else ()
    elif now is None:
        yield _SAME, "nothing is paid from it any more; no grant named it"
    elif was is not None:
        yield from _moved(was.limit, now.limit, "epsilon may be spent; ceilings hold as they are")
        yield from _moved(was.delta, now.delta, "delta may be spent")
        for name, read in _LIMITS.items():
            yield from _limit(name, read(was), read(now))
        yield from _refresh(was.refresh, now.refresh)
        if was.shares != now.shares:
            yield from _sharing(now)
            yield _SAME, "answers that it has paid for so far are charged when they are asked for again"
        if was.default_epsilon != now.default_epsilon:
            yield _SAME, "a statement that names no epsilon pays another one"


_LIMITS: dict[str, Callable[[Budget], Fraction | None]] = {
    "one user": lambda budget: budget.user_limit,
    "one session": lambda budget: budget.session_limit,
    "one statement": lambda budget: budget.max_epsilon,
}


def _sharing(now: Budget) -> Iterator[Meaning]:
    """What a user may learn of the budget: its limit where releases are shared, otherwise what they pay."""
    if now.shares:
        told = f"each user reads what others pay for: one user may learn its whole limit, epsilon {decimal(now.limit)}"
        yield _WEAKER, told
    else:
        yield (
            _STRONGER,
            "each user reads what they pay for themselves: USER LIMIT bounds what one user may learn",
        )


def _limit(who: str, was: Fraction | None, now: Fraction | None) -> Iterator[Meaning]:
    if was == now:
        return
    if now is None:
        yield _WEAKER, f"{who} may spend all of it"
    else:
        effect = _STRONGER if was is None or now < was else _WEAKER
        yield effect, f"{who} may spend epsilon {decimal(now)} of it"


def _refresh(was: CalendarInterval | None, now: CalendarInterval | None) -> Iterator[Meaning]:
    if was == now:
        return
    if now is None:
        yield _STRONGER, "it never refills"
    else:
        yield _WEAKER, f"it refills every {now}; ceilings never do"


def _grant(subject: Subject, _: Policy, after: Policy) -> Iterator[Meaning]:
    _kind, table, role, budget = subject
    if any((g.table, g.role, g.budget or "") == (table, role, budget) for g in after.grants):
        yield _WEAKER, f"{role} may ask about {table}" + (f", paid from {budget}" if budget else "")
    else:
        yield (
            _STRONGER,
            f"{role} may not ask about {table}" + (f" at the expense of {budget}" if budget else ""),
        )


def _exact(subject: Subject, _: Policy, after: Policy) -> Iterator[Meaning]:
    _kind, table, role = subject
    if any((g.table, g.role) == (table, role) for g in after.exact):
        yield _WEAKER, f"{role} reads {table} without noise, each time on record"
    else:
        yield _STRONGER, f"{role} reads {table} without noise no more"


def _view(subject: Subject, before: Policy, after: Policy) -> Iterator[Meaning]:
    was, now = before.views.get(subject[1]), after.views.get(subject[1])
    if now is None:
        yield _STRONGER, "its rows are dropped; what was read of them stays known"
    elif was is None:
        loss = f" at epsilon {_said(now.option('epsilon'))}" if now.option("epsilon") else ""
        yield (
            _WEAKER,
            f"whoever it is granted to reads what {now.option('method')} makes of its {_source(now)}{loss}",
        )
    else:
        yield from _redefined(was, now)


def _redefined(was: ProtectedView, now: ProtectedView) -> Iterator[Meaning]:
    """The effect of other options of a view. Who pays changes no guarantee, nor does the accuracy of a private method.

    For other methods, the effect of an option is unknown unless it is listed.
    """
    yield _SAME, f"REFRESH {now.kind.upper()} builds it anew, and charges it"
    if was.query != now.query:
        yield _WEAKER, f"it is made of {'other cells' if now.kind == CUBE else 'another query'}"
    if was.is_inside is not now.is_inside:
        effect, text = (_STRONGER, "only answers") if now.is_inside else (_WEAKER, "its rows")
        yield effect, f"{text} are released"
    if was.option("method") != now.option("method"):
        effect = (_SAME if _is_private(was) else _STRONGER) if _is_private(now) else _WEAKER
        yield effect, f"it is made by {now.option('method')}, it was {was.option('method')}"
    if _is_private(was) is _is_private(now):
        yield from _options(was, now)


def _options(was: ProtectedView, now: ProtectedView) -> Iterator[Meaning]:
    tells_more = _OF_PRIVATE_VIEWS if _is_private(now) else _OF_OTHER_VIEWS
    names = tells_more if _is_private(now) else sorted({n for n, _ in (*was.options, *now.options)} - _APART)
    for name in names:
        old, new = was.option(name), now.option(name)
        if old != new:
            are_numbers = isinstance(old, int | Fraction) and isinstance(new, int | Fraction)
            is_stronger = are_numbers and name in tells_more and not tells_more[name](old, new)
            yield _STRONGER if is_stronger else _WEAKER, f"{name} is {_said(new)}, it was {_said(old)}"


def _source(view: ProtectedView) -> str:
    return "cells" if view.kind == CUBE else "query"


def _is_private(view: ProtectedView) -> bool:
    """Whether its method is private differentially, by its name."""
    return str(view.option("method")).startswith("dp_")


def _said(value: OptionValue | None) -> str:
    return "left to the method" if value is None else option_text(value)


_OF_PRIVATE_VIEWS: dict[str, Callable[[Any, Any], bool]] = {"epsilon": operator.lt, "delta": operator.lt}
_OF_OTHER_VIEWS: dict[str, Callable[[Any, Any], bool]] = {
    "k": operator.gt,
    "t": operator.lt,
    "epsilon": operator.lt,
}
"""By option, a function that says whether the second of two values lets people learn more."""
_APART = {"charge", "method"}
"""Options about who pays, and those that are compared separately."""


_MEANINGS: dict[str, Callable[[Subject, Policy, Policy], Iterator[Meaning]]] = {
    "budget": _budget,
    "table": _table,
    "taxonomy": _saying("views and keys that name it follow it from their next build or question on"),
    "view": _view,
    "grant": _grant,
    "exact": _exact,
}


def explanation(found: Sequence[Difference]) -> Iterator[str]:
    """Lines of text: for each difference its subject, its statements, and what it means for privacy."""
    for each in found:
        mark = "" if each.effect is _SAME else f" [{each.effect.value}]"
        yield f"{each.subject}{mark}: {each.meaning}"
        if each.was is not None:
            yield f"  was: {each.was}"
        if each.now is not None:
            yield f"  now: {each.now}"
