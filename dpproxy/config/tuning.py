"""PostgreSQL's settings of planner and memory, which clients send: they are checked, and have no effect.

Each line has the name, the default as SHOW prints it and, for numbers, the range. The range of a size is in units of as
many kB as the last number says, 1 or 8.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Final

from dpproxy.config import setting_checks as checks
from dpproxy.config.setting_checks import Check

_ON: Final = """
enable_async_append enable_bitmapscan enable_gathermerge enable_hashagg enable_hashjoin enable_incremental_sort
enable_indexonlyscan enable_indexscan enable_material enable_memoize enable_mergejoin enable_nestloop
enable_parallel_append enable_parallel_hash enable_partition_pruning enable_seqscan enable_sort enable_tidscan geqo
jit_expressions jit_tuple_deforming parallel_leader_participation
"""
_OFF: Final = "enable_partitionwise_aggregate enable_partitionwise_join"
_REALS: Final = """
cpu_index_tuple_cost 0.005 0 1.79769e+308
cpu_operator_cost 0.0025 0 1.79769e+308
cpu_tuple_cost 0.01 0 1.79769e+308
cursor_tuple_fraction 0.1 0 1
geqo_seed 0 0 1
geqo_selection_bias 2 1.5 2
hash_mem_multiplier 2 1 1000
jit_above_cost 100000 -1 1.79769e+308
jit_inline_above_cost 500000 -1 1.79769e+308
jit_optimize_above_cost 500000 -1 1.79769e+308
parallel_setup_cost 1000 0 1.79769e+308
parallel_tuple_cost 0.1 0 1.79769e+308
random_page_cost 4 0 1.79769e+308
recursive_worktable_factor 10 0.001 1e+06
seq_page_cost 1 0 1.79769e+308
"""
_INTEGERS: Final = """
default_statistics_target 100 1 10000
from_collapse_limit 8 1 2147483647
geqo_effort 5 1 10
geqo_generations 0 0 2147483647
geqo_pool_size 0 0 2147483647
geqo_threshold 12 2 2147483647
join_collapse_limit 8 1 2147483647
max_parallel_maintenance_workers 2 0 1024
max_parallel_workers 8 0 1024
max_parallel_workers_per_gather 2 0 1024
"""
_SIZES: Final = """
effective_cache_size 4GB 1 2147483647 8
maintenance_work_mem 64MB 1024 2147483647 1
min_parallel_index_scan_size 512kB 0 715827882 8
min_parallel_table_scan_size 8MB 0 715827882 8
temp_buffers 8MB 100 1073741823 8
work_mem 4MB 64 2147483647 1
"""
_NUMBER: Final = re.compile(
    r"\s*([+-]?(?:0[xX][0-9a-fA-F]{1,16}|(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?))\s*([a-zA-Z]*)\s*",
    re.ASCII,
)
_UNITS: Final = {"TB": 1 << 30, "GB": 1 << 20, "MB": 1 << 10, "kB": 1, "B": 1 / 1024}
"""In kB."""


def _parse(text: str) -> tuple[float, str]:
    """A number and its unit. Errors: ValueError."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError
    number = found[1]
    is_hexadecimal = "x" in number.lower()
    return float(int(number, 16)) if is_hexadecimal else float(number), found[2]


def _octal(text: str) -> str:
    """A whole number with a leading 0 is octal, as C reads it."""
    return str(int(text, 8)) if re.fullmatch(r"\s*0[0-7]+\s*", text, re.ASCII) else text


def _real(low: float, high: float, text: str) -> str:
    allowed = ValueError(f"a number from {low:g} to {high:g}")
    try:
        value, unit = _parse(text)
    except ValueError:
        raise allowed from None
    if unit or not low <= value <= high:
        raise allowed
    return f"{value:g}"


def _integer(low: int, high: int, text: str) -> str:
    allowed = ValueError(f"an integer from {low} to {high}")
    try:
        value, unit = _parse(_octal(text))
        whole = round(value)
    except (ValueError, OverflowError):
        raise allowed from None
    if unit or not low <= whole <= high:
        raise allowed
    return str(whole)


def _size(low: int, high: int, page: int, text: str) -> str:
    allowed = ValueError(
        f"a size from {_size_text(low, page)} to {high * page}kB; units are B, kB, MB, GB and TB"
    )
    try:
        value, unit = _parse(_octal(text))
        pages = round(_in_pages(value, unit, page))
    except (ValueError, KeyError, OverflowError):
        raise allowed from None
    if not low <= pages <= high:
        raise allowed
    return _size_text(pages, page)


def _in_pages(value: float, unit: str, page: int) -> float:
    """A size in pages, rounded to the next smaller unit first (guc.c: convert_to_base_unit). Errors: ``KeyError``."""
    if not unit:
        return value
    names = list(_UNITS)
    smaller = names[names.index(unit) + 1 :] if unit in _UNITS else []
    found = value * _UNITS[unit] / page
    if smaller:
        step = _UNITS[smaller[0]] / page
        found = round(found / step) * step
    return found


def _size_text(pages: int, page: int) -> str:
    """A size in the largest unit that it is a whole number of."""
    size = pages * page
    if not size:
        return "0"
    unit = next(name for name, factor in _UNITS.items() if size % factor == 0)
    return f"{size // int(_UNITS[unit])}{unit}"


_WORDS: Final = {"true": "on", "yes": "on", "1": "on", "false": "off", "no": "off", "0": "off"}


def _exclusion(text: str) -> str:
    return checks.available("partition", "on", "off")(_WORDS.get(text.lower(), text))


def tuning() -> Iterator[tuple[str, str, Check]]:
    """The name, default and check of each setting."""
    yield "constraint_exclusion", "partition", _exclusion
    yield "plan_cache_mode", "auto", checks.available("auto", "force_generic_plan", "force_custom_plan")
    yield from ((name, "on", checks.switch) for name in _ON.split())
    yield from ((name, "off", checks.switch) for name in _OFF.split())
    for name, default, low, high in map(str.split, _REALS.strip().splitlines()):
        # A maximum of 1.79769e+308 stands for the largest double.
        most = float("1.7976931348623157e308") if high.endswith("308") else float(high)
        yield name, default, partial(_real, float(low), most)
    for name, default, low, high in map(str.split, _INTEGERS.strip().splitlines()):
        yield name, default, partial(_integer, int(low), int(high))
    for name, default, low, high, page in map(str.split, _SIZES.strip().splitlines()):
        yield name, default, partial(_size, int(low), int(high), int(page))
