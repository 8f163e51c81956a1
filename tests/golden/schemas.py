"""Random small databases: people, their visits, the items and returns of a visit, and a public table of codes."""

import math
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import lru_cache

from hypothesis import strategies as st
from msgspec.structs import replace

from tests.golden.world import Row, World, build

CREATE = (
    "CREATE TABLE people (id INTEGER, c VARCHAR, i INTEGER, y DATE)",
    "CREATE TABLE visits (person INTEGER, no BIGINT, c VARCHAR, i INTEGER, d DECIMAL(6,2), t BOOLEAN)",
    "CREATE TABLE items (no INTEGER, c VARCHAR, n INTEGER NOT NULL, f DOUBLE)",
    "CREATE TABLE returns (person INTEGER, no INTEGER, c VARCHAR, n INTEGER)",
    "CREATE TABLE notes (person INTEGER, doc JSON)",
    "CREATE TABLE codes (c VARCHAR, k INTEGER, w DOUBLE)",
)
PEOPLE = ("(id)", "(id)", "(id) MAX ROWS 2")
VISITS = (
    "(person) REFERENCES people (id)",
    "(person) REFERENCES people (id) MAX ROWS 2",
    "(person) REFERENCES people (id) MAX ROWS 3 MAX GROUPS 1",
    "(person) REFERENCES people (id) MAX ROWS 5 MAX GROUPS 2",
)
ITEMS = (
    "(no) REFERENCES visits (no)",
    "(no) REFERENCES visits (no) MAX ROWS 2",
    "(no) REFERENCES visits (no) MAX ROWS 4 MAX GROUPS 2",
    "(no) REFERENCES people (id) MAX ROWS 3",
)
TEXTS = ("IN ('a', 'B', NULL, '')", "IN ('a', 'b')", "REFERENCES codes (c)", "DISCOVERED")
NUMBERS = ("BETWEEN -3 AND 4", "BETWEEN 0 AND 2 OUTSIDE NULL")

_ids = st.sampled_from([None, 1, 1, 2, 3, 9])
_texts = st.sampled_from([None, "a", "a", "B", "", "b", "z"])
_small = st.sampled_from([None, -(2**31), -3, 0, 1, 2, 4, 2**31 - 1])
_days = st.sampled_from([None, date(2020, 1, 1), date(2020, 2, 29), date(1, 1, 1)])
VALUES: dict[str, st.SearchStrategy[Row]] = {
    "people": st.tuples(_ids, _texts, _small, _days),
    "visits": st.tuples(
        _ids, st.sampled_from([None, 1, 2, 3, 4]), _texts, _small,
        st.sampled_from([None, Decimal("-9999.99"), Decimal("0.10"), Decimal("9.99"), Decimal("9999.99")]),
        st.sampled_from([None, True, False]),
    ),
    "items": st.tuples(
        st.sampled_from([None, 1, 2, 3, 4]), _texts, st.sampled_from([1000, 1004, 2**31 - 1]),
        st.sampled_from([None, math.nan, math.inf, -0.0, 0.1, 1e308]),
    ),
    "returns": st.tuples(_ids, st.sampled_from([None, 1, 2, 3, 4]), _texts, _small),
    "notes": st.tuples(_ids, st.sampled_from([
        None, "1", '{"c": "a", "i": 1}', '{"c": "a", "i": 1}', '{"c": "B", "i": 2}', '{"c": null, "i": -9}',
        '{"c": {}, "i": "x"}', '{"c": "", "i": 1e3}', '{"i": 2147483647}', '{"c": "z", "i": 0.5}', '[{"c": "a"}]',
    ])),
    "codes": st.tuples(_texts, st.sampled_from([None, 0, 1, 2]), st.sampled_from([None, math.nan, 0.5, 2.0])),
}  # fmt: skip


@lru_cache(maxsize=64)
def _world(people: str, visits: str, items: str, text: str, number: str) -> World:
    listed = TEXTS[1] if text == "DISCOVERED" else text
    return build(
        (
            *CREATE,
            "ALTER TABLE codes SET PRIVACY PUBLIC",
            f"ALTER TABLE people SET PRIVACY KEY {people}",
            f"ALTER TABLE visits SET PRIVACY KEY {visits}",
            f"ALTER TABLE items SET PRIVACY KEY {items}",
            f"ALTER TABLE people ALTER COLUMN c SET PRIVACY DOMAIN {text}",
            f"ALTER TABLE people ALTER COLUMN i SET PRIVACY DOMAIN {number}",
            "ALTER TABLE people ALTER COLUMN y SET PRIVACY DOMAIN BETWEEN DATE '2020-01-01' AND DATE '2020-03-01'",
            f"ALTER TABLE visits ALTER COLUMN c SET PRIVACY DOMAIN {text}",
            f"ALTER TABLE visits ALTER COLUMN i SET PRIVACY DOMAIN {number}",
            "ALTER TABLE visits ALTER COLUMN d SET PRIVACY DOMAIN BETWEEN -0.55 AND 9.99",
            "ALTER TABLE visits ALTER COLUMN t SET PRIVACY DOMAIN IN (true, false)",
            f"ALTER TABLE items ALTER COLUMN c SET PRIVACY DOMAIN {text}",
            "ALTER TABLE items ALTER COLUMN n SET PRIVACY DOMAIN BETWEEN 1000 AND 1010",
            "ALTER TABLE items ALTER COLUMN f SET PRIVACY DOMAIN BETWEEN 0 AND 7",
            "ALTER TABLE returns SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 20",
            "ALTER TABLE returns ALTER COLUMN n SET PRIVACY DOMAIN BETWEEN -3 AND 4",
            "ALTER TABLE notes SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 20",
            f"ALTER TABLE notes ALTER COLUMN (doc ->> 'c') SET PRIVACY DOMAIN {listed}",
            f"ALTER TABLE notes ALTER COLUMN ((doc ->> 'i')::int) SET PRIVACY DOMAIN {number}",
            "ALTER TABLE returns SET PRIVACY FOREIGN KEY (no, c) REFERENCES visits (no, c)",
        ),
        "DELTA 0.5" if text == "DISCOVERED" else "",
    )


CLEAN: dict[str, st.SearchStrategy[Row]] = {
    "people": st.tuples(st.sampled_from(["a", "b"]), st.sampled_from([0, 1, 2]), st.just(date(2020, 2, 29))),
    "visits": st.tuples(
        st.sampled_from([1, 2, 3]), st.sampled_from(["a", "a", "b"]), st.sampled_from([0, 1, 2]),
        st.sampled_from([None, Decimal("0.10"), Decimal("9.99")]), st.sampled_from([None, True, False]),
    ),
    "items": st.tuples(
        st.sampled_from([1, 2, 3, 4]), st.sampled_from(["a", "b", None]), st.sampled_from([1000, 1004]),
        st.sampled_from([None, 0.5, 7.0]),
    ),
    "returns": st.tuples(st.sampled_from([1, 2, 3, 4]), st.sampled_from(["a", "b", None]), st.sampled_from([0, 1, 4])),
    "notes": st.tuples(st.sampled_from([1, 2, 3]), st.sampled_from(['{"c": "a", "i": 1}', '{"c": "b", "i": 2}'])),
    "codes": VALUES["codes"],
}  # fmt: skip


@st.composite
def clean_worlds(draw: st.DrawFn) -> World:
    """Rows that no bound of the policy touches, each of one person: an answer without noise is the rows' own."""
    world = _world(
        "(id)", "(person) REFERENCES people (id) MAX ROWS 20", "(no) REFERENCES visits (no) MAX ROWS 20",
        draw(st.sampled_from(["IN ('a', 'b')", "IN ('a', 'b')", "DISCOVERED"])), "BETWEEN -3 AND 4",
    )  # fmt: skip
    rows = {name: draw(st.lists(values, min_size=1, max_size=5)) for name, values in CLEAN.items()}
    rows["people"] = [(index, *row) for index, row in zip((1, 2, 3), rows["people"] * 3, strict=False)]
    rows["visits"] = [(person, no, *row) for no, (person, *row) in enumerate(rows["visits"], 1)]
    if draw(st.booleans()):
        rows |= {name: [row for row in rows[name] if None not in row] for name in rows if name != "codes"}
    rows["items"] = [row for row in rows["items"] if row[0] in {no for _, no, *_ in rows["visits"]}]
    whose = {no: person for person, no, *_ in rows["visits"]}
    rows["returns"] = [(whose[row[0]], *row) for row in rows["returns"] if row[0] in whose]
    return replace(world, rows=rows)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A schema, its policy, and rows of all kinds: of nobody, of several people, shared, outside their domains."""
    pick: Callable[[tuple[str, ...]], str] = lambda choices: draw(st.sampled_from(choices))  # noqa: E731
    world = _world(pick(PEOPLE), pick(VISITS), pick(ITEMS), pick(TEXTS), pick(NUMBERS))
    rows: dict[str, list[Row]] = {}
    for name, values in VALUES.items():
        found: list[Row] = []
        for row in draw(st.lists(values, max_size=5)):
            found += [row] * draw(st.sampled_from([1, 1, 1, 2]))
        rows[name] = found
    return replace(world, rows=rows)
