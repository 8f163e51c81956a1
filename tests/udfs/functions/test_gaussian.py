"""The functions of the discrete Gaussian mechanism draw from it and from no other."""

import duckdb

import udfs
from udfs.mechanisms import Gaussian
from udfs.pool import Pool
from udfs.privacy import NANO


def test_each_overload_asks_for_the_mechanism_of_its_parameters():
    pool = Pool()
    with duckdb.connect() as connection:
        udfs.register(connection, pool)
        connection.execute(
            "SELECT dp_gaussian(7, 3, 0.25), dp_gaussian([7, 8], [3, 5], 0.25), dp_gaussian(7.5, 1, 2)"
        ).fetchall()
    assert set(pool._shelves) == {
        Gaussian.best((3,), NANO // 4),
        Gaussian.best((3, 5), NANO // 4),
        Gaussian.best((2**30,), 2 * NANO),
    }
    pool.close()
