"""An exact stage as DuckDB's own parser reads it: what in it is on no list. Nothing of our printer is used."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from dpproxy.algebra import nodes
from dpproxy.algebra.documents import TEXT_AT
from dpproxy.analysis.totality import AGGREGATES, CASTS, FORMULAS, FUNCTIONS, OPERATORS
from tests.analysis.overloads import ENGINE
from tests.empty import empty

_CALLS = {
    *FUNCTIONS,
    *AGGREGATES,
    "count_star",
    *(ENGINE.get(o, o) for o in OPERATORS.keys() - nodes.COMPARISONS),
}
_CLASSES = {
    "CASE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "OPERATOR", "PARAMETER", "STAR", "SUBQUERY", "TYPE",
}  # fmt: skip
_SHAPES = {
    "SELECT_NODE", "SET_OPERATION_NODE", "BASE_TABLE", "EMPTY", "SUBQUERY", "JOIN", "EXPRESSION_LIST", "ORDER_MODIFIER",
    "DISTINCT_MODIFIER", "ASCENDING", "DESCENDING", "OPERATOR_IS_NULL", "OPERATOR_NOT", "OPERATOR_COALESCE",
    "COMPARE_IN",
}  # fmt: skip

_WINDOWS = {f"WINDOW_{name}" for name in (
    "ROW_NUMBER", "RANK", "RANK_DENSE", "LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE", "AGGREGATE",
)}  # fmt: skip


_DOCUMENT = re.compile("([^()]*)".join(map(re.escape, TEXT_AT)))


@lru_cache(maxsize=4096)
def unlisted(sql: str) -> frozenset[str]:
    """Functions, casts and constructs of a statement that no exact stage may have. Reads no table."""
    sql = _DOCUMENT.sub(r"concat(\1, \2, \3, \4)", sql)
    for before, after in FORMULAS.keys() - {TEXT_AT}:  # as a call of their operand
        sql = sql.replace(before, "concat(").replace(after, ")")
    with empty() as connection:
        [[text]] = connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()
    tree = json.loads(text)
    assert not tree["error"], sql
    return frozenset(_unlisted(tree["statements"]))


def _unlisted(tree: object) -> Iterator[str]:
    if isinstance(tree, list):
        for part in tree:
            yield from _unlisted(part)
    elif isinstance(tree, dict):
        if not _is_listed(tree):
            yield f"{tree.get('class', '')} {tree.get('type')} {tree.get('function_name', '')}"
        for part in tree.values():
            yield from _unlisted(part)


def _is_listed(node: dict[str, Any]) -> bool:
    kind = node.get("class")
    match kind:
        case "FUNCTION":
            return node["function_name"] in _CALLS and node["filter"] is None
        case "WINDOW":
            return node["type"] in _WINDOWS and (
                node["type"] != "WINDOW_AGGREGATE" or node["function_name"] in _CALLS
            )
        case "CAST":
            name = node["type_expr"]["type_name"]
            is_null = node["child"].get("literal", {}).get("kind") == "NULL_LITERAL"
            return not node["try_cast"] and (name in CASTS or is_null)
        case "OPERATOR":
            return node["type"] in _SHAPES
        case None:
            return not isinstance(node.get("type"), str) or node["type"] in _SHAPES
        case _:
            return kind in _CLASSES
