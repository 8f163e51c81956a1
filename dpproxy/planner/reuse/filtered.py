"""Counts and sums with FILTER as the same without it, under further conditions."""

from functools import lru_cache

from dpproxy.planner.reuse.terms import NULL, Term, conjunction, constant_kind, negated, rearranged

Conditions = tuple[Term, ...]


@lru_cache(maxsize=4096)
def wordings(measure: Term) -> tuple[tuple[Term, Conditions], ...]:
    """The measure as others that give the same, each of rows under further conditions: first of all as it is."""
    found: list[tuple[Term, Conditions]] = [(measure, ())]
    conditions: set[Conditions] = set()
    bare = _bare(measure, conditions)
    [more] = conditions if len(conditions) == 1 else [()]
    if more:
        found.append((bare, more))
    match bare:
        case ("cast", to, tries, ("call", "count", False, (counted,), ())) if counted != ("star",):
            star: Term = ("cast", to, tries, ("call", "count", False, (("star",),), ()))
            found.append((star, conjunction((*more, negated(("is null", counted))))))
        case _:
            pass
    return tuple(found)


def _bare(found: Term, conditions: set[Conditions]) -> Term:
    """A sum or a count without what makes NULL of other rows: CASE WHEN condition THEN x END."""
    match found:
        case ("call", "sum" | "count", False, (argument,), ()):
            value, more = _unless_null(argument)
            conditions.add(more)
            is_star = found[1] == "count" and constant_kind(value) is not None
            return (*found[:3], (("star",) if is_star else value,), ())
        case ("cast" | "-" | "add" | "mul", *parts):
            moved = (_bare(p, conditions) if isinstance(p, tuple) else p for p in parts)
            return rearranged((found[0], *moved))
        case _:
            return found


def _unless_null(found: Term) -> tuple[Term, Conditions]:
    """A value without the condition of its only branch."""
    match found:
        case ("case", ((condition, value),), otherwise) if otherwise == NULL:
            return value, conjunction((condition,))
        case ("cast", to, tries, inner):
            then, more = _unless_null(inner)
            return (then if then[:3] == ("cast", to, tries) else ("cast", to, tries, then)), more
        case _:
            return found, ()
