from collections.abc import Callable

import pytest

from dpproxy.algebra.plan import Answer
from dpproxy.pgcatalog.empty_monitoring import TABLES
from dpproxy.pgcatalog.table import Table


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_it_answers_with_its_columns_and_no_rows(answer: Callable[..., Answer], table: Table):
    got = answer(f"SELECT * FROM pg_catalog.{table.name}")
    assert [column.name for column in got.columns] == list(table.columns)
    assert list(got.rows) == []
