"""Values of settings as a real PostgreSQL takes and shows them."""

from collections.abc import Iterator

import psycopg
import pytest

from dpproxy.config.settings import DEFAULTS, SETTINGS, normalise
from dpproxy.values.errors import Refusal
from tests.postgres import Server

TUNING = [name for name, one in SETTINGS.items() if one.description.endswith("nothing is planned by it.")]
SIZES = (
    "work_mem",
    "maintenance_work_mem",
    "temp_buffers",
    "effective_cache_size",
    "min_parallel_table_scan_size",
)
VALUES = (
    "4096", "1GB", "1.5MB", "64 kB", "1048576B", "65537B", "1000", "8MB", "801kB", "1TB", "10", "0x1000kB", "1e3kB",
    "100mb", "0", "100", "2047MB", "1048576", "010", "+4096", "2.5kB", "100.5", "101.5", "30.1GB", "-1", "", "foo",
    "1 s", "99999GB", "0.3MB", " 2MB ", "MB", "1e400",
)  # fmt: skip
NUMBERS = (
    "1", "0", "-1", "1.4", "2.5", "3.5", "0x7", " 3 ", "010", "11", "a", "", "99999999999", "1.10", "1e3", "2.",
    "0.000001234", "1234567.8", ".5", "+2", "1e-30", "123456",
    "1e300", "nan", "1GB", "1024", "1025", "1e308", "1.79769e308",
)  # fmt: skip
WORDS = (
    "on", "off", "t", "f", "y", "n", "of", "o", "TRUE", "fal", "1", "0", "2", "", "maybe", "auto", "AUTO", "partition",
    "force_custom_plan", "yes", "no",
)  # fmt: skip


@pytest.fixture(scope="module")
def real(postgres: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        yield connection


def theirs(real: psycopg.Connection, name: str, value: str) -> str | None:
    """What SHOW prints after it is set; the SQLSTATE is that of the refusal."""
    try:
        real.execute("SELECT set_config(%s, %s, false)", [name, value])
        [[shown]] = real.execute(f"SHOW {name}".encode()).fetchall()
        return str(shown)
    except psycopg.Error as error:
        return error.sqlstate
    finally:
        real.execute(f"RESET {name}".encode())


def ours(name: str, value: str) -> str:
    try:
        return normalise(name, value, DEFAULTS)
    except Refusal as refusal:
        return refusal.sqlstate


def test_there_are_those_of_postgres_with_its_defaults(real: psycopg.Connection):
    rows = real.execute(
        "SELECT name, current_setting(name) FROM pg_settings WHERE context = 'user' AND (category LIKE 'Query Tuning%' "
        "OR name LIKE 'max_parallel%' OR name IN ('work_mem', 'maintenance_work_mem', 'temp_buffers', "
        "'hash_mem_multiplier', 'parallel_leader_participation') OR name LIKE 'jit%') AND name <> 'jit'"
    ).fetchall()
    assert dict(rows) == {name: DEFAULTS[name] for name in TUNING}
    assert all(ours(name, DEFAULTS[name]) == DEFAULTS[name] for name in TUNING)


@pytest.mark.parametrize("name", sorted(TUNING))
def test_values_are_taken_and_shown_as_there(real: psycopg.Connection, name: str):
    values = {*(VALUES if name in SIZES else ()), *NUMBERS, *WORDS}
    wrong = [
        (v, mine, right)
        for v in sorted(values)
        if (mine := ours(name, v)) != (right := theirs(real, name, v))
    ]
    assert wrong == []


def test_a_refusal_says_what_is_allowed():
    for name, value, hint in (
        ("work_mem", "1", "allowed is a size from 64kB to 2147483647kB; units are B, kB, MB, GB and TB"),
        ("geqo_effort", "11", "allowed is an integer from 1 to 10"),
        ("cursor_tuple_fraction", "2", "allowed is a number from 0 to 1"),
        ("enable_sort", "maybe", "allowed is 'on' or 'off'"),
        ("constraint_exclusion", "x", "Available values: partition, on, off."),
    ):
        with pytest.raises(Refusal) as caught:
            normalise(name, value, DEFAULTS)
        assert (caught.value.message, caught.value.hint) == (
            f'invalid value for parameter "{name}": "{value}"',
            hint,
        )
