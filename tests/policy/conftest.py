from collections.abc import Callable

import pytest

from dpproxy.policy.apply import apply
from dpproxy.policy.model import Policy
from dpproxy.policy.store import change_of
from dpproxy.values.pgtypes import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Column,
    Schema,
)

Apply = Callable[..., Policy]


@pytest.fixture
def schema() -> Schema:
    return Schema({
        "patients": (
            Column("patient_id", INT8),
            Column("age", INT4),
            Column("sex", TEXT),
            Column("smokes", BOOL),
            Column("born", DATE),
            Column("photo", BYTEA),
            Column("Zip", TEXT),
        ),
        "visits": (
            Column("visit_id", INT8),
            Column("patient_id", INT4),
            Column("cost", NUMERIC.with_precision(8, 2)),
            Column("weight", FLOAT8),
            Column("height", FLOAT4),
            Column("ward", INT2),
            Column("seen", TIMESTAMP),
            Column("paid", TIMESTAMPTZ),
            Column("note", TEXT),
            Column("rate", NUMERIC),
        ),
        "lines": (Column("visit_id", INT8), Column("price", INT4), Column("code", TEXT)),
        "regions": (Column("region", TEXT), Column("size", INT4)),
        "Odd Name": (Column("select", INT4),),
    })  # fmt: skip


@pytest.fixture
def applied(schema: Schema) -> Apply:
    """Apply statements to a policy, an empty one unless given."""

    def run(*statements: str, to: Policy | None = None) -> Policy:
        policy = to or Policy()
        for sql in statements:
            policy = apply(policy, change_of(sql), schema)
        return policy

    return run
