"""The session's time zone in the engine, and the current time."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import duckdb
from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.analysis.present import PRESENT, present_of, value_of
from dpproxy.pgcatalog.compiler.kind_rules import kind_of
from dpproxy.pgcatalog.compiler.trees import cast, text
from dpproxy.values.errors import InvalidParameter, Unsupported
from dpproxy.wire.zones import zone

_HOUR = timedelta(hours=1)
_EAST, _WEST = 14, 12
"""The most hours of the zones called Etc/GMT."""


def engine_zone(settings: Mapping[str, str]) -> str | None:
    """The engine's name of the session's time zone; None where it does not have it."""
    return _zone_of(settings.get("timezone", "UTC"))


def put_in_present(tree: exp.Expr, settings: Mapping[str, str]) -> None:
    """Replace ``now()`` and the like by the statement's times; the engine's clock is never used."""
    present = present_of(settings)
    for node in list(tree.find_all(*PRESENT)):
        value = value_of(node, present)
        kind = "text" if isinstance(value, str) else _TYPES[type(node)]
        zone = "+00" if kind == "timestamptz" else ""
        made = cast(text(f"{value}{zone}"), kind)
        made.meta.update(node.meta)
        node.replace(made)


_TYPES = {exp.CurrentTimestamp: "timestamptz", exp.CurrentDate: "date", exp.Localtimestamp: "timestamp"}


def in_zone(node: exp.Expr) -> exp.Expr:
    """``AT TIME ZONE 'Europe/Berlin'`` of a timestamp, with or without a zone.

    Raises:
        InvalidParameter: no zone has that name.
        Unsupported: a zone that is no literal, or that the engine does not have; a value that is no moment.
    """
    given = node.args["zone"]
    if not (isinstance(given, exp.Literal) and given.is_string) or kind_of(node) is None:
        raise Unsupported("AT TIME ZONE takes a timestamp and a literal zone here", position=position(node))
    try:
        name = _zone_of(given.name)
    except ValueError:
        raise InvalidParameter(f'time zone "{given.name}" not recognized') from None
    if name is None:
        raise Unsupported("moments are not computed with in this time zone", position=position(given))
    return exp.AtTimeZone(this=node.this, zone=exp.Literal.string(name))


@lru_cache(maxsize=64)
def _zone_of(name: str) -> str | None:
    found = zone(name)
    if isinstance(found, ZoneInfo):
        return found.key if _is_known(found.key) else None
    if found is UTC:
        return "UTC"
    offset = found.utcoffset(datetime(2000, 1, 1, tzinfo=UTC)) or timedelta()
    hours, rest = divmod(offset, _HOUR)
    if rest or not -_WEST <= hours <= _EAST:
        return None
    return f"Etc/GMT{-hours:+d}"


def _is_known(key: str) -> bool:
    with duckdb.connect(":memory:") as connection:
        try:
            connection.execute(f"SET TimeZone = '{key}'")
        except duckdb.Error:
            return False
        return True
