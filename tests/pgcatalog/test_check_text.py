from datetime import UTC, date, datetime
from fractions import Fraction

import pytest

from dpproxy.pgcatalog.check_text import check
from dpproxy.policy.model import Between, Discovered, Domain, Members, References
from dpproxy.values.pgtypes import DATE, FLOAT8, INT4, NUMERIC, TEXT, TIMESTAMP, Column, SqlType


@pytest.mark.parametrize(
    ("type_", "domain", "pretty"),
    [
        (INT4, Between(-1, 2), "x >= '-1'::integer AND x <= 2"),
        (FLOAT8, Between(0, Fraction(3, 2)), "x >= 0::double precision AND x <= 1.5::double precision"),
        (NUMERIC, Between(0, Fraction(3, 2)), "x >= 0::numeric AND x <= 1.5"),
        (TEXT, Members(("it's", "b", None)), "x = ANY (ARRAY['it''s'::text, 'b'::text])"),
        (DATE, Members((date(2020, 1, 2),)), "x = '2020-01-02'::date"),
    ],
)
def test_a_domain_in_few_brackets(type_: SqlType, domain: Domain, pretty: str):
    found = check(Column("x", type_), domain)
    assert found is not None
    assert found[1] == f"CHECK ({pretty})"


@pytest.mark.parametrize(
    ("type_", "domain"),
    [
        (INT4, Between(0, Fraction(3, 2))),
        (INT4, References("t", "c")),
        (TEXT, Discovered()),
        (TEXT, Members((None,))),
        (TEXT, Members(("back\\slash",))),
        (DATE, Between(datetime(2020, 1, 1), datetime(2020, 1, 2))),  # noqa: DTZ001
        (TIMESTAMP, Between(datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 2, tzinfo=UTC))),
        (INT4, None),
    ],
)
def test_what_is_not_certain_is_left_out(type_: SqlType, domain: Domain | None):
    assert check(Column("x", type_), domain) is None
