"""Values for the placeholders of attacks (``{t}``, ``{key}`` and so on), from a policy, for each protected table."""

from collections.abc import Iterator, Mapping
from datetime import date
from fractions import Fraction
from string import Formatter

from msgspec import Struct

from dpproxy.assurance.model import Attack
from dpproxy.planner.exactly import visible_columns
from dpproxy.policy.documents import columns_of
from dpproxy.policy.dump import constant
from dpproxy.policy.model import (
    Between,
    ColumnPolicy,
    Domain,
    Exposure,
    Members,
    Policy,
    References,
    TablePolicy,
)
from dpproxy.policy.units import unit_table
from dpproxy.sql.quoting import identifier, table_text
from dpproxy.values.pgtypes import DATE, FLOATS, INTEGERS, TEXTS, Column, Schema

FEW = 1_000
"""The most values of a whole-number column that attacks group by."""
Names = Mapping[str, str]


class Target(Struct, frozen=True):
    """One protected table: its name, and the values of the placeholders by name."""

    table: str
    names: Names

    def statements(self, attack: Attack) -> Iterator[str]:
        """The attack's statements over this table, without those that have a placeholder it has no value for."""
        for template in attack.statements:
            wanted = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
            if wanted <= self.names.keys():
                yield template.format(**self.names)

    def suits(self, attack: Attack) -> bool:
        """Whether a statement of the attack mentions this table; attacks that mention none run once, on the first."""
        return any("{" in template for template in attack.statements)


def targets(policy: Policy, schema: Schema, keys: Mapping[str, str]) -> list[Target]:
    """A target for each protected table, sorted by name; ``keys`` are constants: the targeted person's key by table."""
    return [
        Target(name, _names(table, policy, schema, keys))
        for name, table in sorted(policy.tables.items())
        if table.exposure is Exposure.PROTECTED and name in schema.tables
    ]


def _names(table: TablePolicy, policy: Policy, schema: Schema, keys: Mapping[str, str]) -> Names:
    columns = columns_of(table, schema)
    found = {"t": table_text(table.name), "bare": table.name, **_lookalike(table.name)}
    found |= _columns(table, columns)
    shown = {column.name for column in visible_columns(policy, table.name, columns)}
    shown |= {name for key_set in table.composites for name in key_set.columns}
    secret = next((column.name for column in columns if column.name not in shown), None)
    found |= {} if secret is None else {"secret": identifier(secret)}
    if table.unit is not None and table.unit.key is not None:
        found["key"] = identifier(table.unit.key)
        if table.name in keys:
            found["her"] = keys[table.name]
    found |= _hidden(policy, schema)
    found |= _public(table, policy)
    found |= _linked(table, policy)
    if "key" in found and "n" in found:
        found["key2"] = found["key"]
    return found


def _columns(table: TablePolicy, columns: tuple[Column, ...]) -> Names:
    """Placeholders for the first numeric column with its bounds, and the first key, text, float and date column."""
    found: dict[str, str] = {}
    for column in columns:
        domain = table.columns.get(column.name, ColumnPolicy()).domain
        for place, text in _column(column, domain).items():
            found.setdefault(place, text)
    if "key_of_few" in found and found["key_of_few"] != found.get("n"):
        found.setdefault("k", found["key_of_few"])
    return found


def _column(column: Column, domain: Domain | None) -> Names:
    """The placeholders that one column can fill; a numeric column fills those for its bounds, too."""
    name = identifier(column.name)
    match domain:
        case Between(int() | Fraction() as low, int() | Fraction() as high) if not isinstance(low, bool):
            found = {"n": name, "lo": constant(low), "hi": constant(high)}
            found |= {"f": name} if column.type.oid in FLOATS else {}
            is_key = column.type.oid in INTEGERS and high - low < FEW
            return found | ({"key_of_few": name} if is_key else {})
        case Between(date()) if column.type.oid == DATE.oid:
            return {"day": name}
        case Members() | References():
            return {"k": name} | ({"s": name} if column.type.oid in TEXTS else {})
        case _:
            return {}


LOOKALIKES = {
    ord(latin): cyrillic
    for latin, cyrillic in zip("aeopcyx", "\u0430\u0435\u043e\u0440\u0441\u0443\u0445", strict=True)
}


def _lookalike(name: str) -> Names:
    """The name in capitals, and with similar letters of another script."""
    swapped = name.translate(LOOKALIKES)
    return {"T": name.upper()} | ({"lookalike": identifier(swapped)} if swapped != name else {})


def _hidden(policy: Policy, schema: Schema) -> Names:
    for name in sorted(schema.tables):
        declared = policy.tables.get(name)
        if declared is None or declared.exposure is Exposure.HIDDEN:
            return {"hidden": identifier(name), "hiddenbare": name}
    return {}


def _public(table: TablePolicy, policy: Policy) -> Names:
    """A public table that has a column with the values of ``{k}``."""
    for name in sorted(table.columns):
        domain = table.columns[name].domain
        if isinstance(domain, References) and domain.table in policy.tables:
            return {
                "pub": table_text(domain.table),
                "pubkey": identifier(domain.column),
                "k": identifier(name),
            }
    return {}


def _linked(table: TablePolicy, policy: Policy) -> Names:
    """A second table of the same privacy unit with the condition that joins both, and a table of another unit."""
    found: dict[str, str] = {}
    owner = unit_table(policy, table.name).name
    for name, other in sorted(policy.tables.items()):
        if name == table.name or other.exposure is not Exposure.PROTECTED or other.unit is None:
            continue
        if unit_table(policy, name).name != owner:
            key = next(
                (c for c in sorted(other.columns) if isinstance(other.columns[c].domain, Members)), None
            )
            found.setdefault("foreign", identifier(name))
            if key is not None and found["foreign"] == identifier(name):
                found.setdefault("fk", identifier(key))
            continue
        link = _link(table, other)
        if link is not None and "link" not in found:
            found |= {"other": identifier(name), "okey": identifier(other.unit.key or ""), "link": link}
    return found


def _link(table: TablePolicy, other: TablePolicy) -> str | None:
    """The join condition of a declared reference between the tables, which have the aliases ``a`` and ``b``."""
    for left, right, one, two in ((table, other, "a", "b"), (other, table, "b", "a")):
        unit = left.unit
        if unit is not None and unit.key is not None and unit.references is not None:
            target, column = unit.references
            if target == right.name:
                return f"{one}.{identifier(unit.key)} = {two}.{identifier(column)}"
    return None
