"""The functions of a mechanism draw from it and from no other."""

import duckdb
import pytest

import udfs
from udfs.mechanisms import Additive, Gaussian, Laplace
from udfs.pool import Pool
from udfs.privacy import NANO


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_each_overload_asks_for_the_mechanism_of_its_parameters(kind: type[Additive]):
    pool, name = Pool(), kind.FUNCTION
    with duckdb.connect() as connection:
        udfs.register(connection, pool)
        connection.execute(
            f"SELECT {name}(7, 3, 0.25), {name}([7, 8], [3, 5], 0.25), {name}(7.5, 1, 2)"
        ).fetchall()
    assert set(pool._shelves) == {
        kind.best((3,), NANO // 4),
        kind.best((3, 5), NANO // 4),
        kind.best((2**30,), 2 * NANO),
    }
    pool.close()
