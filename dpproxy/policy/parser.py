"""The parser of privacy statements; statements that it does not recognise are refused.

ALTER ROLE is read by ``role_statements``, CREATE USER and its like by ``user_statements``.
"""

from collections.abc import Callable
from typing import NoReturn

from dpproxy.policy import interval
from dpproxy.policy.constants import amount, literal
from dpproxy.policy.documents import read_field
from dpproxy.policy.forms import form_hint
from dpproxy.policy.interval import CalendarInterval
from dpproxy.policy.model import ColumnClass, Composition, Counted, Exposure, Outside
from dpproxy.policy.statements import (
    AdvanceDataVersion,
    Amount,
    ColumnChange,
    CreateBudget,
    CreateTaxonomy,
    CreateView,
    DropBudget,
    DropTaxonomy,
    DropView,
    GrantSelect,
    Listing,
    Literal,
    ResetBudget,
    RevokeSelect,
    SetBetween,
    SetBlocks,
    SetCeiling,
    SetColumnClass,
    SetColumnHidden,
    SetColumnQuantiles,
    SetComposite,
    SetDiscovered,
    SetExact,
    SetExpectedRows,
    SetExposure,
    SetForeignKey,
    SetKey,
    SetMembers,
    SetQuantiles,
    SetReferences,
    SetTaxonomy,
    Show,
    Statement,
    Suggest,
    TableChange,
)
from dpproxy.policy.view_parser import (
    create_cube,
    create_taxonomy,
    create_view,
    drop_cube,
    drop_taxonomy,
    drop_view,
    refresh_view,
    verify_views,
)
from dpproxy.sql.cursor import Cursor, Name
from dpproxy.sql.lexer import TokenKind
from dpproxy.values.errors import InvalidParameter, SyntaxRefused

LONGEST_REASON = 1000
"""The most characters of the reason for a reset."""
_PARTS = {"BEFORE": (2**63 - 1, {Listing.AUDIT}), "LIMIT": (100_000, {Listing.AUDIT, Listing.HISTORY})}
"""What may follow SHOW PRIVACY AUDIT, each with its largest number and what has it."""


def parse(sql: str) -> Statement:
    """One privacy statement; a semicolon may end it.

    Raises:
        SyntaxRefused: at the first word that does not fit, with what was expected.
        Unsupported: a construct that exists and is not there yet.

    >>> parse("ALTER TABLE visits SET PRIVACY PUBLIC").table.text
    'visits'
    """
    cursor = Cursor(sql)
    try:
        statement = cursor.choose(_STATEMENTS, None)(cursor)
        cursor.end(cursor.before.description)
    except SyntaxRefused as refusal:
        refusal.hint = refusal.hint or form_hint(sql)
        raise
    return statement


_HEADS: dict[str, frozenset[str]] = {
    "create": frozenset({"privacy", "protected", "user"}),
    "drop": frozenset({"privacy", "protected", "user"}),
    "refresh": frozenset({"protected", "privacy"}),
    "reset": frozenset({"privacy"}),
    "verify": frozenset({"protected", "privacy"}),
    "advance": frozenset({"privacy"}),
    "show": frozenset({"privacy"}),
    "suggest": frozenset({"privacy"}),
}
"""First word to second words; GRANT, REVOKE and ALTER TABLE have rules of their own."""


def is_privacy_statement(sql: str) -> bool:
    """Whether a statement is a privacy statement, by its words alone; never raises.

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
        return first.kind is TokenKind.WORD and any(map(cursor.at, _HEADS.get(first.text, ())))
    except SyntaxRefused:
        return False


def _is_of_privacy(cursor: Cursor) -> bool:
    """Whether the word PRIVACY occurs later in the statement."""
    while not cursor.at("privacy"):
        if cursor.take().kind is TokenKind.END:
            return False
    return True


def _create(cursor: Cursor) -> CreateBudget | CreateTaxonomy | CreateView:
    if cursor.accept("protected"):
        return create_view(cursor)
    cursor.expect("privacy", after="CREATE")
    if cursor.accept("taxonomy"):
        return create_taxonomy(cursor)
    if cursor.accept("cube"):
        return create_cube(cursor)
    cursor.expect("budget", after="PRIVACY")
    name = cursor.name("budget", "BUDGET")
    cursor.expect("limit", "epsilon", after="the budget's name")
    limit = amount(cursor, "LIMIT EPSILON")
    delta = amount(cursor, "LIMIT DELTA") if cursor.accept("delta") else None
    limits = _clauses(cursor, _LIMITS)
    refresh, shares = _refresh(cursor), cursor.accept("share")
    if shares:
        cursor.expect("releases", after="SHARE")
    return CreateBudget(name, limit, delta, **limits, refresh=refresh, shares=shares)


def _refresh(cursor: Cursor) -> CalendarInterval | None:
    """REFRESH EVERY interval, or NEVER, which is the default."""
    if not cursor.accept("refresh") or cursor.accept("never"):
        return None
    cursor.expect("every", after="REFRESH")
    return interval.parse(_text(cursor, "EVERY"), cursor.before.position)


def _text(cursor: Cursor, after: str) -> str:
    """A text constant."""
    if cursor.token.kind is not TokenKind.TEXT:
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
    if cursor.accept("cube"):
        return drop_cube(cursor)
    cursor.expect("budget", after="PRIVACY")
    return DropBudget(cursor.name("budget", "BUDGET"))


def _grant(cursor: Cursor) -> GrantSelect | SetExact:
    if cursor.accept("exact"):
        exactly = SetExact(*_privilege(cursor, "EXACT", "to"), granted=True)
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


def _revoke(cursor: Cursor) -> RevokeSelect | SetExact:
    if cursor.accept("exact"):
        return SetExact(*_privilege(cursor, "EXACT", "from"), granted=False)
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
    tables = cursor.comma_list(cursor.table, before)
    if not cursor.accept(link):
        cursor.refuse([], "the table's name")
    roles = cursor.comma_list(lambda word: cursor.name("role", word), link.upper())
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
    before, limit = (
        _whole(cursor, word, most) if listing in of else None for word, (most, of) in _PARTS.items()
    )
    return Show(listing, table, position, limit, before)


def _whole(cursor: Cursor, word: str, most: int) -> int | None:
    if not cursor.accept(word.lower()):
        return None
    asked = amount(cursor, word)
    if not isinstance(asked.value, int) or not 0 < asked.value <= most:
        raise InvalidParameter(f"{word} is a whole number from 1 to {most}", position=asked.position)
    return asked.value


def _suggest(cursor: Cursor) -> Suggest:
    position = cursor.before.position
    cursor.expect("privacy", "for", after="SUGGEST")
    table = cursor.table("FOR")
    if not cursor.accept("with"):
        return Suggest(table, None, position)
    cursor.expect("epsilon", after="WITH")
    return Suggest(table, amount(cursor, "WITH EPSILON"), position)


# --- tables and columns


def _alter_table(cursor: Cursor) -> TableChange | SetComposite | SetForeignKey | ColumnChange:
    """What follows ALTER."""
    cursor.expect("table", after="ALTER")
    table = cursor.table("TABLE")
    if cursor.accept("set"):
        cursor.expect("privacy", after="SET")
        return cursor.choose(_TABLE, "SET PRIVACY", _UNLISTED)(cursor, table)
    if not cursor.accept("alter"):
        hint = "A declaration is taken back by SET PRIVACY HIDDEN." if cursor.at("drop") else None
        cursor.refuse([], "the table's name", hint)
    after = "COLUMN" if cursor.accept("column") else "ALTER"
    column = read_field(cursor) if cursor.accept("(") else cursor.name("column", after)
    cursor.expect("set", "privacy", after="the column's name")
    return cursor.choose(_COLUMN, "SET PRIVACY")(cursor, table, column)


def _clauses(cursor: Cursor, names: dict[tuple[str, ...], str]) -> dict[str, Amount]:
    """Clauses of words and a number, each at most once, in any order; by the names given."""
    found: dict[str, Amount] = {}
    while any(cursor.accept(first) for first in dict.fromkeys(words[0] for words in names)):
        start = cursor.before
        words: tuple[str, ...] = (start.text,)
        while words not in names:
            longer = {w[len(words)]: w[: len(words) + 1] for w in names if w[: len(words)] == words}
            words = cursor.choose(longer, words[-1].upper())
        title = " ".join(words).upper()
        if names[words] in found:
            raise SyntaxRefused(f"{title} is given twice", position=start.position)
        found[names[words]] = amount(cursor, title)
    return found


def _key(cursor: Cursor, table: Name) -> SetKey:
    if cursor.accept("row"):
        if not (cursor.at("max") or cursor.at("references")):
            return SetKey(table, None)
        title = "MAX ROWS" if cursor.at("max") else "REFERENCES"
        hint = (
            "Where a person has several rows, the column that tells them apart stands in brackets behind KEY."
        )
        raise SyntaxRefused(
            f"KEY ROW takes no {title}: each row is a unit", hint=hint, position=cursor.token.position
        )
    if not cursor.accept("("):
        cursor.refuse([], "KEY")
    key = _single(cursor, _closed_columns(cursor))
    references = None
    if cursor.accept("references"):
        target, columns = _target(cursor)
        references = (target, _single(cursor, columns))
    limits = _clauses(cursor, {("max", "rows"): "max_rows", ("max", "groups"): "max_groups"})
    return SetKey(table, key, references, **limits)


def _target(cursor: Cursor) -> tuple[Name, tuple[Name, ...]]:
    """What follows REFERENCES: a table and columns of it."""
    table = cursor.table("REFERENCES")
    cursor.expect("(", after="the referenced table's name")
    return table, _closed_columns(cursor)


def _single(cursor: Cursor, columns: tuple[Name, ...], several: str = "a key of several columns") -> Name:
    if len(columns) > 1:
        cursor.unsupported(several, position=columns[0].position)
    return columns[0]


def _closed_columns(cursor: Cursor) -> tuple[Name, ...]:
    """Columns and the closing parenthesis."""
    columns = cursor.comma_list(lambda after: cursor.name("column", after), '"("')
    cursor.expect(")", after="the column's name")
    return columns


def _ceiling(cursor: Cursor, table: Name) -> SetCeiling:
    cursor.expect("epsilon", after="CEILING")
    epsilon = amount(cursor, "CEILING EPSILON")
    delta = amount(cursor, "CEILING DELTA") if cursor.accept("delta") else None
    accountant = None
    if cursor.accept("accountant"):
        accountant = cursor.choose({one.value.lower(): one for one in Composition}, "ACCOUNTANT")
    return SetCeiling(table, epsilon, delta, accountant)


def _expected(cursor: Cursor, table: Name) -> SetExpectedRows:
    cursor.expect("rows", after="EXPECTED")
    return SetExpectedRows(table, amount(cursor, "EXPECTED ROWS"))


def _composite(cursor: Cursor, table: Name) -> SetComposite:
    """DOMAIN (a, b) REFERENCES t (c, d): of one column it would be ALTER COLUMN's."""
    if not cursor.accept("("):
        _of_a_column("DOMAIN", cursor.before.position)
    columns = _closed_columns(cursor)
    if len(columns) == 1:
        _of_a_column("DOMAIN", columns[0].position)
    return SetComposite(table, columns, _target_or_hidden(cursor))


def _foreign_key(cursor: Cursor, table: Name) -> SetForeignKey:
    """FOREIGN KEY (a, b) REFERENCES t (c, d)."""
    cursor.expect("key", "(", after="FOREIGN")
    return SetForeignKey(table, _closed_columns(cursor), _target_or_hidden(cursor))


def _target_or_hidden(cursor: Cursor) -> tuple[Name, tuple[Name, ...]] | None:
    if cursor.accept("hidden"):
        return None
    cursor.expect("references", after='")"')
    return _target(cursor)


def _of_a_column(word: str, position: int | None) -> NoReturn:
    hint = "The name of the column stands before it, behind that of the table."
    message = f"{word} is declared of a column, not of a table"
    raise SyntaxRefused(message, hint=hint, position=position)


def _between(cursor: Cursor, table: Name, column: Name) -> SetBetween:
    low = literal(cursor, "BETWEEN")
    cursor.expect("and", after="the lower bound")
    high = literal(cursor, "AND")
    outside = Outside.CLAMP
    if cursor.accept("outside"):
        outside = cursor.choose({"clamp": Outside.CLAMP, "null": Outside.NULL}, "OUTSIDE")
    not_null = cursor.accept("not")
    if not_null:
        cursor.expect("null", after="NOT")
    return SetBetween(table, column, low, high, outside, not_null)


def _members(cursor: Cursor, table: Name, column: Name) -> SetMembers:
    position = cursor.token.position
    cursor.expect("(", after="IN")
    if cursor.accept(")"):
        return SetMembers(table, column, (), position)
    values = cursor.comma_list(lambda after: literal(cursor, after), '"("')
    if not cursor.accept(")"):
        cursor.refuse([], "a constant")
    return SetMembers(table, column, values, position)


def _domain(cursor: Cursor, table: Name, column: Name) -> ColumnChange:
    return cursor.choose(_DOMAIN, "DOMAIN", _UNLISTED)(cursor, table, column)


def _references(cursor: Cursor, table: Name, column: Name) -> SetReferences:
    target, columns = _target(cursor)
    if len(columns) > 1:
        raise SyntaxRefused(
            "one column has the values of one column",
            hint="Several columns refer together where they stand in brackets behind DOMAIN, for the table.",
            position=columns[1].position,
        )
    if or_null := cursor.accept("or"):
        cursor.expect("null", after="OR")
    return SetReferences(table, column, (target, columns[0]), or_null)


def _class(cursor: Cursor, table: Name, column: Name) -> SetColumnClass:
    column_class = cursor.choose(_CLASSES, "CLASS")
    if column_class is ColumnClass.QUASI_IDENTIFIER:
        cursor.expect("identifier", after="QUASI")
    return SetColumnClass(table, column, column_class)


def _taxonomy(cursor: Cursor, table: Name, column: Name) -> SetTaxonomy:
    return SetTaxonomy(table, column, cursor.name("taxonomy", "TAXONOMY"))


def _blocks(cursor: Cursor, table: Name) -> SetBlocks:
    """BLOCKS BY (c), or BLOCKS HIDDEN."""
    if cursor.accept("hidden"):
        return SetBlocks(table, None)
    cursor.expect("by", after="BLOCKS")
    cursor.expect("(", after="BY")
    return SetBlocks(table, _single(cursor, _closed_columns(cursor), "blocks of several columns"))


def _quantiles(cursor: Cursor, table: Name) -> SetQuantiles:
    cursor.expect("of", "rows", after="QUANTILES")
    return SetQuantiles(table, *_shares(cursor))


def _column_quantiles(cursor: Cursor, table: Name, column: Name) -> SetColumnQuantiles:
    cursor.expect("of", after="QUANTILES")
    of = cursor.choose({"groups": Counted.GROUPS, "values": Counted.VALUES}, "OF")
    return SetColumnQuantiles(table, column, of, *_shares(cursor))


def _shares(cursor: Cursor) -> tuple[tuple[tuple[Amount, Literal], ...], Amount]:
    """(share AT mark, ...) WITHIN error, in percent."""
    cursor.expect("(", after="what the quantiles are of")
    found = cursor.comma_list(lambda _: _share(cursor), '"("')
    cursor.expect(")", "within", after="a mark")
    return found, amount(cursor, "WITHIN")


def _share(cursor: Cursor) -> tuple[Amount, Literal]:
    share = amount(cursor, "QUANTILES")
    cursor.expect("at", after="a share")
    return share, literal(cursor, "AT")


_TABLE: dict[str, Callable[[Cursor, Name], TableChange | SetComposite | SetForeignKey]] = {
    "key": _key,
    "public": lambda _, table: SetExposure(table, Exposure.PUBLIC),
    "hidden": lambda _, table: SetExposure(table, Exposure.HIDDEN),
    "ceiling": _ceiling,
    "expected": _expected,
    "domain": _composite,
    "foreign": _foreign_key,
    "class": lambda cursor, _: _of_a_column("CLASS", cursor.before.position),
    "blocks": _blocks,
    "quantiles": _quantiles,
}
_COLUMN: dict[str, Callable[[Cursor, Name, Name], ColumnChange]] = {
    "domain": _domain,
    "hidden": lambda _, table, column: SetColumnHidden(table, column),
    "class": _class,
    "quantiles": _column_quantiles,
}
_UNLISTED = frozenset({"class"})
"""Words that are refused with a hint, and not offered in messages."""

_CLASSES = {
    "identifier": ColumnClass.IDENTIFIER,
    "quasi": ColumnClass.QUASI_IDENTIFIER,
    "sensitive": ColumnClass.SENSITIVE,
}
_DOMAIN: dict[str, Callable[[Cursor, Name, Name], ColumnChange]] = {
    "between": _between,
    "in": _members,
    "references": _references,
    "discovered": lambda _, table, column: SetDiscovered(table, column),
    "taxonomy": _taxonomy,
}


_LIMITS: dict[tuple[str, ...], str] = {
    ("user", "limit", "epsilon"): "user_limit",
    ("session", "limit", "epsilon"): "session_limit",
    ("max", "epsilon"): "max_epsilon",
    ("default", "epsilon"): "default_epsilon",
}
_STATEMENTS: dict[str, Callable[[Cursor], Statement]] = {
    "alter": _alter_table, "create": _create, "drop": _drop, "grant": _grant, "revoke": _revoke, "advance": _advance,
    "show": _show, "suggest": _suggest, "refresh": refresh_view, "verify": verify_views, "reset": _reset,
}  # fmt: skip
