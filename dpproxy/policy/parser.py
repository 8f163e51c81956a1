"""The parser of privacy statements; what is not recognised here is refused, nothing is passed on.

Grammar, apart from ALTER TABLE (parse_table) and protected views (parse_view): CREATE and DROP PRIVACY BUDGET, GRANT
and REVOKE SELECT, ADVANCE PRIVACY DATA VERSION, RESET PRIVACY BUDGET, SHOW PRIVACY, SUGGEST PRIVACY FOR.
"""

from collections.abc import Callable

from dpproxy.policy import interval
from dpproxy.policy.constants import amount
from dpproxy.policy.interval import Interval
from dpproxy.policy.parse_table import alter_table, clauses
from dpproxy.policy.parse_view import (
    create_taxonomy,
    create_view,
    drop_taxonomy,
    drop_view,
    refresh_view,
    verify_views,
)
from dpproxy.policy.statements import (
    AdvanceDataVersion,
    CreateBudget,
    CreateTaxonomy,
    CreateView,
    DropBudget,
    DropTaxonomy,
    DropView,
    GrantExact,
    GrantSelect,
    Listing,
    ResetBudget,
    RevokeExact,
    RevokeSelect,
    Show,
    Statement,
    Suggest,
)
from dpproxy.sql.cursor import Cursor, Name
from dpproxy.sql.lexer import Kind
from dpproxy.values.errors import InvalidParameter, SyntaxRefused

LONGEST_REASON = 1000
"""Characters of why a budget begins anew."""

MOST_LISTED = 100_000
"""Rows of SHOW PRIVACY AUDIT."""


def parse(sql: str) -> Statement:
    """One privacy statement; a semicolon may end it.

    Raises:
        SyntaxRefused: at the first word that does not fit, with what was expected.
        Unsupported: a construct that exists and is not there yet.

    >>> parse("ALTER TABLE visits SET PRIVACY PUBLIC").table.text
    'visits'
    """
    cursor = Cursor(sql)
    statement = cursor.choose(_STATEMENTS, None)(cursor)
    cursor.end(cursor.before.shown)
    return statement


_HEADS: dict[str, frozenset[str]] = {
    "create": frozenset({"privacy", "protected"}),
    "drop": frozenset({"privacy", "protected"}),
    "refresh": frozenset({"protected"}),
    "reset": frozenset({"privacy"}),
    "verify": frozenset({"protected"}),
    "advance": frozenset({"privacy"}),
    "show": frozenset({"privacy"}),
    "suggest": frozenset({"privacy"}),
}
"""First word to second words; GRANT, REVOKE and ALTER TABLE have rules of their own."""


def is_privacy_statement(sql: str) -> bool:
    """Whether a statement is for this package's parser: judged from its words alone, never raises.

    >>> is_privacy_statement("alter table t set privacy public"), is_privacy_statement("SHOW timezone")
    (True, False)
    """
    cursor = Cursor(sql)
    try:
        if cursor.accept("alter"):
            return cursor.at("role") or cursor.at("user") or (cursor.at("table") and _is_of_privacy(cursor))
        if cursor.at("grant") or cursor.at("revoke"):
            return True
        first = cursor.take()
        return first.kind is Kind.WORD and any(map(cursor.at, _HEADS.get(first.text, ())))
    except SyntaxRefused:
        return False


def _is_of_privacy(cursor: Cursor) -> bool:
    """Whether the word PRIVACY follows anywhere."""
    while not cursor.at("privacy"):
        if cursor.take().kind is Kind.END:
            return False
    return True


def _create(cursor: Cursor) -> CreateBudget | CreateTaxonomy | CreateView:
    if cursor.accept("protected"):
        return create_view(cursor)
    cursor.expect("privacy", after="CREATE")
    if cursor.accept("taxonomy"):
        return create_taxonomy(cursor)
    cursor.expect("budget", after="PRIVACY")
    name = cursor.name("budget", "BUDGET")
    cursor.expect("limit", "epsilon", after="the budget's name")
    limit = amount(cursor, "LIMIT EPSILON")
    delta = amount(cursor, "LIMIT DELTA") if cursor.accept("delta") else None
    limits = clauses(cursor, _LIMITS)
    return CreateBudget(name, limit, delta, **limits, refresh=_refresh(cursor))


def _refresh(cursor: Cursor) -> Interval | None:
    """REFRESH EVERY, or NEVER, which is what is meant without it."""
    if not cursor.accept("refresh") or cursor.accept("never"):
        return None
    cursor.expect("every", after="REFRESH")
    return interval.read(_text(cursor, "EVERY"), cursor.before.position)


def _text(cursor: Cursor, after: str) -> str:
    """What stands in quotes."""
    if cursor.token.kind is not Kind.TEXT:
        cursor.refuse(["a text in quotes"], after)
    return cursor.take().text


def _reset(cursor: Cursor) -> ResetBudget:
    position = cursor.before.position
    cursor.expect("privacy", "budget", after="RESET")
    budget, user = cursor.name("budget", "BUDGET"), None
    if cursor.accept("for"):
        cursor.expect("user", after="FOR")
        user = cursor.name("user", "USER")
    cursor.expect("reason", after="the budget's name" if user is None else "the user's name")
    at = cursor.token.position
    reason = _text(cursor, "REASON").strip()
    if not 0 < len(reason) <= LONGEST_REASON:
        raise InvalidParameter(
            f"a reason has 1 to {LONGEST_REASON} characters",
            hint="Say for whoever reads the ledger why: REASON 'a mistaken query'.",
            position=at,
        )
    return ResetBudget(budget, user, reason, position)


def _drop(cursor: Cursor) -> DropBudget | DropTaxonomy | DropView:
    if cursor.accept("protected"):
        return drop_view(cursor)
    cursor.expect("privacy", after="DROP")
    if cursor.accept("taxonomy"):
        return drop_taxonomy(cursor)
    cursor.expect("budget", after="PRIVACY")
    return DropBudget(cursor.name("budget", "BUDGET"))


def _grant(cursor: Cursor) -> GrantSelect | GrantExact:
    if cursor.accept("exact"):
        exactly = GrantExact(*_privilege(cursor, "EXACT", "to"))
        if cursor.at("with"):
            cursor.unsupported("EXACT SELECT with a budget", "Exact answers debit nothing: leave WITH out.")
        return exactly
    tables, roles = _privilege(cursor, "GRANT", "to")
    budget = None
    if cursor.accept("with"):
        if cursor.at("grant"):
            cursor.unsupported("WITH GRANT OPTION")
        cursor.expect("privacy", "budget", after="WITH")
        budget = cursor.name("budget", "BUDGET")
    return GrantSelect(tables, roles, budget)


def _revoke(cursor: Cursor) -> RevokeSelect | RevokeExact:
    if cursor.accept("exact"):
        return RevokeExact(*_privilege(cursor, "EXACT", "from"))
    return RevokeSelect(*_privilege(cursor, "REVOKE", "from"))


def _privilege(cursor: Cursor, after: str, link: str) -> tuple[tuple[Name, ...], tuple[Name, ...]]:
    """SELECT ON tables and the word ``link``, then roles."""
    cursor.expect("select", after=after)
    if cursor.token.text == "(":
        cursor.unsupported(
            "SELECT on single columns", "ALTER COLUMN ... SET PRIVACY HIDDEN hides a column from all."
        )
    cursor.expect("on", after="SELECT")
    before = "TABLE" if cursor.accept("table") else "ON"
    tables = cursor.listed(cursor.table, before)
    if not cursor.accept(link):
        cursor.refuse([], "the table's name")
    roles = cursor.listed(lambda word: cursor.name("role", word), link.upper())
    return tables, roles


def _advance(cursor: Cursor) -> AdvanceDataVersion:
    position = cursor.before.position
    cursor.expect("privacy", "data", "version", after="ADVANCE")
    return AdvanceDataVersion(position)


def _show(cursor: Cursor) -> Show:
    position = cursor.before.position
    cursor.expect("privacy", after="SHOW")
    listing = cursor.choose({one.value.lower(): one for one in Listing}, "SHOW PRIVACY")
    table = cursor.table("FOR") if listing is Listing.POLICY and cursor.accept("for") else None
    limit = _rows(cursor) if listing is Listing.AUDIT and cursor.accept("limit") else None
    return Show(listing, table, position, limit)


def _rows(cursor: Cursor) -> int:
    """A number of rows."""
    asked = amount(cursor, "LIMIT")
    if not isinstance(asked.value, int) or not 0 < asked.value <= MOST_LISTED:
        raise InvalidParameter(f"LIMIT is a whole number from 1 to {MOST_LISTED}", position=asked.position)
    return asked.value


def _suggest(cursor: Cursor) -> Suggest:
    position = cursor.before.position
    cursor.expect("privacy", "for", after="SUGGEST")
    table = cursor.table("FOR")
    if not cursor.accept("with"):
        return Suggest(table, None, position)
    cursor.expect("epsilon", after="WITH")
    return Suggest(table, amount(cursor, "WITH EPSILON"), position)


_LIMITS: dict[tuple[str, ...], str] = {
    ("user", "limit", "epsilon"): "user_limit",
    ("session", "limit", "epsilon"): "session_limit",
    ("max", "epsilon"): "max_epsilon",
    ("default", "epsilon"): "default_epsilon",
}
_STATEMENTS: dict[str, Callable[[Cursor], Statement]] = {
    "alter": alter_table,
    "create": _create,
    "drop": _drop,
    "grant": _grant,
    "revoke": _revoke,
    "advance": _advance,
    "show": _show,
    "suggest": _suggest,
    "refresh": refresh_view,
    "verify": verify_views,
    "reset": _reset,
}
