import pytest

from dpproxy.values.errors import Unsupported
from tests.backends.postgres.test_logic import value


def test_bounds_of_whole_numbers_become_those_of_a_double():
    reach = value("CAST(CASE WHEN i < 0 THEN 0 WHEN i > 110 THEN 110 ELSE i END AS DOUBLE)").reach
    assert (reach.low, reach.high, reach.least, reach.is_finite) == (0.0, 110.0, 1.0, True)
    assert value("CAST(i AS DOUBLE)").reach.most == 2.0**63


def test_a_released_value_is_a_double_of_some_size():
    assert value("CAST($2 AS DOUBLE)").reach.is_finite


@pytest.mark.parametrize(
    "sql",
    ["CAST(x AS BIGINT)", "CAST(x AS INT128)", "CAST(s AS BIGINT)", "CAST(s AS DATE)", "CAST(s AS DOUBLE)",
     "CAST(d AS VARCHAR)", "CAST(i AS BOOLEAN)", "CAST(x AS DECIMAL(18, 2))", "CAST(1.25 AS DECIMAL(18, 1))"],
)  # fmt: skip
def test_what_could_raise_on_a_row_is_refused(sql: str):
    with pytest.raises(Unsupported):
        value(sql)
