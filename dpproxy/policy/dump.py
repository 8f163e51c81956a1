"""The policy as the statements that create it, in a fixed order: equal policies give equal text.

The version and the data version are counters of the state, not declarations, and are left out.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from fractions import Fraction

from dpproxy.policy.model import (
    CUBE,
    Between,
    Budget,
    ColumnPolicy,
    Discovered,
    Domain,
    Exposure,
    Grant,
    LimitQuantiles,
    Members,
    OptionValue,
    Policy,
    ProtectedView,
    References,
    Scalar,
    TablePolicy,
    Taxonomic,
    Taxonomy,
    Unit,
)
from dpproxy.sql.quoting import identifier, literal, table_text
from dpproxy.values.pgtypes import ForeignKey

Subject = tuple[str, ...]
"""What a statement declares: its kind, then names; for a table its name, a column or "", and the clause's keyword."""


def dump(policy: Policy) -> list[str]:
    """Statements without semicolons: budgets, each table with its columns, taxonomies, views, grants; by name.

    What refers to another table stands after the tables, which are public or protected by then.
    """
    return [text for _, text in named_statements(policy)]


def named_statements(policy: Policy) -> Iterator[tuple[Subject, str]]:
    """The statements of ``dump``, each with its subject; no two have the same."""
    tables = [policy.tables[name] for name in sorted(policy.tables)]
    yield from ((("budget", name), _budget(policy.budgets[name])) for name in sorted(policy.budgets))
    for table in tables:
        yield from _declared(table, _own(table))
    yield from ((("taxonomy", n), _taxonomy(policy.taxonomies[n])) for n in sorted(policy.taxonomies))
    for table in tables:
        yield from _declared(table, _referring(table))
    yield from ((("view", name), protected_view(policy.views[name])) for name in sorted(policy.views))
    for grant in sorted(policy.grants, key=lambda g: (g.table, g.role, g.budget or "")):
        yield ("grant", grant.table, grant.role, grant.budget or ""), _grant(grant)
    for exact in sorted(policy.exact, key=lambda g: (g.table, g.role)):
        text = f"GRANT EXACT SELECT ON {table_text(exact.table)} TO {identifier(exact.role)}"
        yield ("exact", exact.table, exact.role), text


def _declared(table: TablePolicy, found: Iterator[tuple[str | None, str]]) -> Iterator[tuple[Subject, str]]:
    for column, text in found:
        word = text.split()[0]
        if column is None and (word == "KEY" or text in {e.value for e in Exposure}):
            word = "EXPOSURE"
        elif column is None and word in ("DOMAIN", "FOREIGN"):
            word = text  # of several columns together: there may be several
        yield ("table", table.name, column or "", word), alter_table(table.name, column, text)


def references(table: TablePolicy) -> list[str]:
    """The statements of one table that refer to other tables' values and rows."""
    return [alter_table(table.name, column, text) for column, text in _referring(table)]


def declarations(table: TablePolicy) -> Iterator[tuple[str | None, str]]:
    """The column (None for the table itself) and what stands after SET PRIVACY, one for each declaration."""
    yield from _own(table)
    yield from _referring(table)


def _own(table: TablePolicy) -> Iterator[tuple[str | None, str]]:
    yield None, _exposure(table)
    if table.ceiling is not None:
        # All of it: what a statement leaves out stays as it was declared.
        epsilon, delta = decimal(table.ceiling.epsilon), decimal(table.ceiling.delta)
        yield None, f"CEILING EPSILON {epsilon} DELTA {delta} ACCOUNTANT {table.ceiling.accountant.value}"
    if table.expected_rows is not None:
        yield None, f"EXPECTED ROWS {table.expected_rows}"
    if table.quantiles is not None:
        yield None, quantiles_text(table.quantiles)
    for name in sorted(table.columns):
        yield from ((name, text) for text in _column(table.columns[name]))
    if table.blocks is not None:
        yield None, f"BLOCKS BY ({identifier(table.blocks)})"


def _referring(table: TablePolicy) -> Iterator[tuple[str | None, str]]:
    """What refers to other tables, but for the privacy key."""
    for name in sorted(table.columns):
        domain = table.columns[name].domain
        if isinstance(domain, References):
            yield name, f"DOMAIN {domain_text(domain)}"
    for one in table.composites:
        target = target_of(one.table, one.referenced)
        yield None, f"DOMAIN ({_names(one.columns)}) {target}"
    for key in table.foreign_keys:
        yield None, foreign_key_text(key)


def foreign_key_text(key: ForeignKey) -> str:
    """The declaration of a reference to a table of the same unit."""
    return f"FOREIGN KEY ({_names(key.columns)}) {target_of(key.target, key.referenced)}"


def target_of(table: str, columns: Iterable[str]) -> str:
    """REFERENCES and what follows it."""
    return f"REFERENCES {table_text(table)} ({_names(columns)})"


def _names(columns: Iterable[str]) -> str:
    return ", ".join(map(identifier, columns))


def constant(value: Scalar | None) -> str:
    """The SQL of a constant.

    >>> constant("it's"), constant(Fraction(-3, 2)), constant(date(2020, 1, 31))
    ("'it''s'", '-1.5', "DATE '2020-01-31'")
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | Fraction():
            return decimal(value)
        case datetime() if value.tzinfo is not None:
            return f"TIMESTAMPTZ '{value.astimezone(UTC).isoformat(sep=' ')}'"
        case datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case str():
            return literal(value)


def decimal(value: int | Fraction) -> str:
    """A number written out exactly.

    Raises:
        ValueError: it has no end in decimal, as 1/3; no declared number is like that.
    """
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        raise ValueError("not a decimal fraction")
    digits = max(twos, fives)
    whole, fractional = divmod(abs(value.numerator) * 10**digits // value.denominator, 10**digits)
    sign = "-" if value.numerator < 0 else ""
    return f"{sign}{whole}" + (f".{fractional:0{digits}d}" if digits else "")


def _budget(budget: Budget) -> str:
    limits = {
        "DELTA": budget.delta or None,
        "USER LIMIT EPSILON": budget.user_limit,
        "SESSION LIMIT EPSILON": budget.session_limit,
        "MAX EPSILON": budget.max_epsilon,
        "DEFAULT EPSILON": budget.default_epsilon,
    }
    clauses = "".join(f" {clause} {decimal(value)}" for clause, value in limits.items() if value is not None)
    limit = decimal(budget.limit)
    refresh = "NEVER" if budget.refresh is None else f"EVERY {constant(str(budget.refresh))}"
    share = " SHARE RELEASES" if budget.shares else ""
    return f"CREATE PRIVACY BUDGET {identifier(budget.name)} LIMIT EPSILON {limit}{clauses} REFRESH {refresh}{share}"


def alter_table(table: str, column: str | None, text: str) -> str:
    """A declaration as a statement; ``column`` is None for one of the table itself."""
    of_column = "" if column is None else f" ALTER COLUMN {identifier(column)}"
    return f"ALTER TABLE {table_text(table)}{of_column} SET PRIVACY {text}"


def _exposure(table: TablePolicy) -> str:
    match table.exposure, table.unit:
        case Exposure.PROTECTED, Unit(key=None):
            return "KEY ROW"
        case Exposure.PROTECTED, Unit() as unit:
            return _key(unit)
        case _:
            return table.exposure.value


def _key(unit: Unit) -> str:
    text = f"KEY ({identifier(unit.key or '')})"
    if unit.references is not None:
        target, column = unit.references
        text += f" {target_of(target, [column])}"
    text += f" MAX ROWS {unit.max_rows}"
    return text if unit.max_groups is None else f"{text} MAX GROUPS {unit.max_groups}"


def _column(column: ColumnPolicy) -> Iterator[str]:
    if column == ColumnPolicy():
        yield "HIDDEN"
    if column.domain is not None and not isinstance(column.domain, References):
        yield f"DOMAIN {domain_text(column.domain)}"
    if column.column_class is not None:
        yield f"CLASS {column.column_class.value}"
    if column.quantiles is not None:
        yield quantiles_text(column.quantiles)


def quantiles_text(quantiles: LimitQuantiles) -> str:
    """The declaration of quantiles."""
    shares = ", ".join(f"{decimal(share)} AT {constant(mark)}" for share, mark in quantiles.shares)
    return f"QUANTILES OF {quantiles.of.value} ({shares}) WITHIN {decimal(quantiles.within)}"


def domain_text(domain: Domain) -> str:
    """What stands after DOMAIN."""
    match domain:
        case Between(low, high, outside, not_null):
            never = " NOT NULL" if not_null else ""
            return f"BETWEEN {constant(low)} AND {constant(high)} OUTSIDE {outside.value}{never}"
        case Members(values):
            return f"IN ({', '.join(map(constant, values))})"
        case Taxonomic():
            return f"TAXONOMY {identifier(domain.taxonomy)}"
        case References(table, column):
            return target_of(table, [column]) + (" OR NULL" if domain.or_null else "")
        case Discovered():
            return "DISCOVERED"


def _grant(grant: Grant) -> str:
    paid = "" if grant.budget is None else f" WITH PRIVACY BUDGET {identifier(grant.budget)}"
    return f"GRANT SELECT ON {table_text(grant.table)} TO {identifier(grant.role)}{paid}"


def _taxonomy(taxonomy: Taxonomy) -> str:
    columns = _names([taxonomy.code, taxonomy.parent])
    return f"CREATE PRIVACY TAXONOMY {identifier(taxonomy.name)} ON {table_text(taxonomy.table)} ({columns})"


def protected_view(view: ProtectedView) -> str:
    """The statement that declares a view or cube: equal for equal definitions."""
    is_cube = view.kind == CUBE
    options = ", ".join(
        f"{name} = {option_text(value)}" for name, value in view.options if not (is_cube and name == "method")
    )
    if is_cube:
        return f"CREATE PRIVACY CUBE {identifier(view.name)} ON {view.query} WITH ({options})"
    return f"CREATE PROTECTED VIEW {identifier(view.name)} WITH ({options}) AS {view.query}"


def option_text(value: OptionValue) -> str:
    """An option of a protected view as a statement has it."""
    match value:
        case tuple():
            return f"({', '.join(identifier(v) if isinstance(v, str) else decimal(v) for v in value)})"
        case str():
            return value if identifier(value) == value else constant(value)
        case _:
            return decimal(value)
