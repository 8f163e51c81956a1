import pytest

from dpproxy.backends.servers.dialect import ValueKind
from dpproxy.values.errors import Unsupported
from tests.backends.postgres.test_logic import COLUMNS, dialect, transpiled, value


@pytest.mark.parametrize(
    ("sql", "text", "kind"),
    [
        ("i + 1", "::bigint + 1::bigint", ValueKind.WHOLE),
        ("CAST(i AS INT128) * 2", "::numeric * 2::numeric", ValueKind.HUGE),
        ("i // NULLIF(i, 0)", "::bigint / ", ValueKind.WHOLE),
        ("CAST(i AS INT128) // NULLIF(i, 0)", "div(", ValueKind.HUGE),
        ("d - d", "- '1970-01-01'::date END)::bigint", ValueKind.WHOLE),
        ("sum(i)", "::bigint)::numeric", ValueKind.HUGE),
        ("count(DISTINCT s)", "count(DISTINCT ", ValueKind.WHOLE),
        ("max(s)", 'COLLATE "C")', ValueKind.TEXT),
        ("max(i = 1)", "bool_or(", ValueKind.TRUTH),
        ("0 - 2e0", "'-2.0'::float8", ValueKind.DOUBLE),
        ("i + NULL", "NULL", ValueKind.NULL),
    ],
)
def test_each_kind_has_its_own_operation(sql: str, text: str, kind: ValueKind):
    query = transpiled(f"SELECT {sql} AS v FROM t", dialect("public"), lambda _, __: COLUMNS)
    assert text in query.sql
    assert query.columns[0].value.kind is kind


@pytest.mark.parametrize(
    "sql",
    [
        "s + 1",
        "i / i",
        "x // x",
        "x % x",
        "d + 1",
        "sum(x)",
        "sum(s)",
        "round(i)",
        "abs(s)",
        "sign(d)",
        "power(i, 2)",
    ],
)
def test_what_mixes_types_or_rounds_otherwise_is_refused(sql: str):
    with pytest.raises(Unsupported):
        value(sql)
