"""Make the eight tables of TPC-H: python -m examples.tpch.generate --scale 0.01 FOLDER.

Writes ``FOLDER/tpch.duckdb``. Names, types, keys and value ranges are those of the TPC Benchmark H specification
(Transaction Processing Performance Council, revision 3); the rows are our own. They follow from the row's number by
modular arithmetic, so that a scale is the same file everywhere. This is not the benchmark: no result is comparable.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

LEAST_SCALE = 0.01
"""Below, a part would not find four different suppliers."""

SCHEMA = """
CREATE TABLE region (r_regionkey INTEGER PRIMARY KEY, r_name VARCHAR NOT NULL, r_comment VARCHAR NOT NULL);
CREATE TABLE nation (n_nationkey INTEGER PRIMARY KEY, n_name VARCHAR NOT NULL, n_regionkey INTEGER NOT NULL,
  n_comment VARCHAR NOT NULL);
CREATE TABLE supplier (s_suppkey INTEGER PRIMARY KEY, s_name VARCHAR NOT NULL, s_address VARCHAR NOT NULL,
  s_nationkey INTEGER NOT NULL, s_phone VARCHAR NOT NULL, s_acctbal DECIMAL(15,2) NOT NULL, s_comment VARCHAR NOT NULL);
CREATE TABLE customer (c_custkey INTEGER PRIMARY KEY, c_name VARCHAR NOT NULL, c_address VARCHAR NOT NULL,
  c_nationkey INTEGER NOT NULL, c_phone VARCHAR NOT NULL, c_acctbal DECIMAL(15,2) NOT NULL,
  c_mktsegment VARCHAR NOT NULL, c_comment VARCHAR NOT NULL);
CREATE TABLE part (p_partkey INTEGER PRIMARY KEY, p_name VARCHAR NOT NULL, p_mfgr VARCHAR NOT NULL,
  p_brand VARCHAR NOT NULL, p_type VARCHAR NOT NULL, p_size INTEGER NOT NULL, p_container VARCHAR NOT NULL,
  p_retailprice DECIMAL(15,2) NOT NULL, p_comment VARCHAR NOT NULL);
CREATE TABLE partsupp (ps_partkey INTEGER NOT NULL, ps_suppkey INTEGER NOT NULL, ps_availqty INTEGER NOT NULL,
  ps_supplycost DECIMAL(15,2) NOT NULL, ps_comment VARCHAR NOT NULL, PRIMARY KEY (ps_partkey, ps_suppkey));
CREATE TABLE orders (o_orderkey BIGINT PRIMARY KEY, o_custkey INTEGER NOT NULL, o_orderstatus VARCHAR NOT NULL,
  o_totalprice DECIMAL(15,2) NOT NULL, o_orderdate DATE NOT NULL, o_orderpriority VARCHAR NOT NULL,
  o_clerk VARCHAR NOT NULL, o_shippriority INTEGER NOT NULL, o_comment VARCHAR NOT NULL);
CREATE TABLE lineitem (l_orderkey BIGINT NOT NULL, l_partkey INTEGER NOT NULL, l_suppkey INTEGER NOT NULL,
  l_linenumber INTEGER NOT NULL, l_quantity DECIMAL(15,2) NOT NULL, l_extendedprice DECIMAL(15,2) NOT NULL,
  l_discount DECIMAL(15,2) NOT NULL, l_tax DECIMAL(15,2) NOT NULL, l_returnflag VARCHAR NOT NULL,
  l_linestatus VARCHAR NOT NULL, l_shipdate DATE NOT NULL, l_commitdate DATE NOT NULL, l_receiptdate DATE NOT NULL,
  l_shipinstruct VARCHAR NOT NULL, l_shipmode VARCHAR NOT NULL, l_comment VARCHAR NOT NULL,
  PRIMARY KEY (l_orderkey, l_linenumber));
"""

REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
NATIONS = (
    ("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0), ("FRANCE", 3),
    ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4),
    ("KENYA", 0), ("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3),
    ("SAUDI ARABIA", 4), ("VIETNAM", 2), ("RUSSIA", 3), ("UNITED KINGDOM", 3), ("UNITED STATES", 1),
)  # fmt: skip
COLOURS = """
almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished chartreuse chiffon
chocolate coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick floral forest frosted gainsboro ghost
goldenrod green grey honeydew hot indian ivory khaki lace lavender lawn lemon light lime linen magenta maroon medium
metallic midnight mint misty moccasin navajo navy olive orange orchid pale papaya peach peru pink plum powder puff
purple red rose rosy royal saddle salmon sandy seashell sienna sky slate smoke snow spring steel tan thistle tomato
turquoise violet wheat white yellow
"""
WORDS = """
boxes wait by the door while quiet clerks count them again before noon special papers travel with each late order and
nobody reads requests twice unless rain delays every second lorry on its way north bold drivers rest there until morning
"""
LISTS: dict[str, Sequence[str]] = {
    "segments": ("AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"),
    "priorities": ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"),
    "instructions": ("DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"),
    "modes": ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"),
    "kinds": ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"),
    "finishes": ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"),
    "metals": ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER"),
    "packs": ("SM", "LG", "MED", "JUMBO", "WRAP"),
    "boxes": ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"),
    "colours": COLOURS.split(),
    "words": WORDS.split(),
}

# Multiplications modulo a prime below 2**31, so that every product fits 64 bits, with the high half folded into the
# low one between them. ``s`` tells columns apart.
MACROS = """
CREATE TEMP MACRO fold(x) AS xor(x, x >> 16);
CREATE TEMP MACRO draw(i, s, n) AS
  fold(fold((CAST(i AS BIGINT) * 1103515245 + s * 974711) % 2147483647) * 1583458089 % 2147483647)
    * 784588716 % 2147483647 % n;
CREATE TEMP MACRO pick(list, i, s) AS list[1 + draw(i, s, len(list))];
CREATE TEMP MACRO money(low, high, i, s) AS CAST((low + draw(i, s, high - low + 1)) AS DECIMAL(15,2)) / 100;
CREATE TEMP MACRO numbered(name, i) AS name || '#' || lpad(CAST(i AS VARCHAR), 9, '0');
CREATE TEMP MACRO phone(nation, i, s) AS (10 + nation) || '-' || (100 + draw(i, s, 900)) || '-'
  || (100 + draw(i, s + 1, 900)) || '-' || (1000 + draw(i, s + 2, 9000));
CREATE TEMP MACRO saying(i, s) AS pick(getvariable('words'), i, s) || ' ' || pick(getvariable('words'), i, s + 1)
  || ' ' || pick(getvariable('words'), i, s + 2) || ' ' || pick(getvariable('words'), i, s + 3);
CREATE TEMP MACRO address(i, s) AS draw(i, s, 900) + 1 || ' ' || pick(getvariable('colours'), i, s + 1) || ' street';
CREATE TEMP MACRO price(partkey) AS
  CAST(90000 + (partkey // 10) % 20001 + 100 * (partkey % 1000) AS DECIMAL(15,2)) / 100;
CREATE TEMP MACRO supplier_of(partkey, i) AS
  (partkey + i * (getvariable('suppliers') // 4 + (partkey - 1) // getvariable('suppliers')))
    % getvariable('suppliers') + 1;
CREATE TEMP MACRO ordered(o) AS DATE '1992-01-01' + CAST(draw(o, 101, 2406) AS INTEGER);
"""

PUBLIC_ROWS = """
INSERT INTO part SELECT i, pick(getvariable('colours'), i, 1) || ' ' || pick(getvariable('colours'), i, 2) || ' '
  || pick(getvariable('colours'), i, 3) || ' ' || pick(getvariable('colours'), i, 4) || ' '
  || pick(getvariable('colours'), i, 5), 'Manufacturer#' || m, 'Brand#' || m || (1 + draw(i, 7, 5)),
  pick(getvariable('kinds'), i, 8) || ' ' || pick(getvariable('finishes'), i, 9) || ' '
  || pick(getvariable('metals'), i, 10), 1 + draw(i, 11, 50),
  pick(getvariable('packs'), i, 12) || ' ' || pick(getvariable('boxes'), i, 13), price(i), saying(i, 14)
  FROM (SELECT CAST(i AS INTEGER) AS i, 1 + draw(i, 6, 5) AS m FROM range(1, getvariable('parts') + 1) AS t(i));
INSERT INTO supplier SELECT i, numbered('Supplier', i), address(i, 20), n, phone(n, i, 22),
  money(-99999, 999999, i, 25), saying(i, 26) || CASE i % 2000 WHEN 3 THEN ' Customer loud Complaints'
  WHEN 4 THEN ' Customer warm Recommends' ELSE '' END
  FROM (SELECT CAST(i AS INTEGER) AS i, draw(i, 28, 25) AS n FROM range(1, getvariable('suppliers') + 1) AS t(i));
INSERT INTO partsupp SELECT p, supplier_of(p, i), 1 + draw(4 * p + i, 30, 9999), money(100, 100000, 4 * p + i, 31),
  saying(4 * p + i, 32) FROM (SELECT p_partkey AS p FROM part), range(4) AS t(i);
"""
PEOPLE_ROWS = """
INSERT INTO customer SELECT i, numbered('Customer', i), address(i, 40), n, phone(n, i, 42),
  money(-99999, 999999, i, 45), pick(getvariable('segments'), i, 46), saying(i, 47)
  FROM (SELECT CAST(i AS INTEGER) AS i, draw(i, 41, 25) AS n FROM range(1, getvariable('customers') + 1) AS t(i));
"""
LINE_ROWS = """
INSERT INTO lineitem SELECT o, p, supplier_of(p, draw(k, 61, 4)), number, quantity, quantity * price(p),
  CAST(draw(k, 63, 11) AS DECIMAL(15,2)) / 100, CAST(draw(k, 64, 9) AS DECIMAL(15,2)) / 100,
  CASE WHEN received > DATE '1995-06-17' THEN 'N' WHEN draw(k, 65, 2) = 0 THEN 'R' ELSE 'A' END,
  CASE WHEN shipped > DATE '1995-06-17' THEN 'O' ELSE 'F' END,
  shipped, ordered(o) + CAST(30 + draw(k, 66, 61) AS INTEGER), received,
  pick(getvariable('instructions'), k, 67), pick(getvariable('modes'), k, 68), saying(k, 69)
  FROM (SELECT *, shipped + CAST(1 + draw(k, 62, 30) AS INTEGER) AS received FROM (
    SELECT o, k, number, 1 + draw(k, 59, getvariable('parts')) AS p, 1 + draw(k, 60, 50) AS quantity,
      ordered(o) + CAST(1 + draw(k, 58, 121) AS INTEGER) AS shipped
    FROM (SELECT o, o * 8 + number AS k, number FROM (SELECT i // 8 * 32 + i % 8 + 1 AS o
      FROM range(getvariable('orders')) AS t(i)), range(1, 8) AS n(number)
      WHERE number <= 1 + draw(o, 102, 7))));
"""
ORDER_ROWS = """
INSERT INTO orders SELECT o, c // 2 * 3 + c % 2 + 1, status, total, ordered(o), pick(getvariable('priorities'), o, 105),
  numbered('Clerk', 1 + draw(o, 106, getvariable('clerks'))), 0, saying(o, 107)
  || CASE draw(o, 111, 90) WHEN 0 THEN ' special handling requests' ELSE '' END
  FROM (SELECT l_orderkey AS o, draw(l_orderkey, 104, getvariable('buyers')) AS c,
    CASE WHEN bool_and(l_linestatus = 'F') THEN 'F' WHEN bool_and(l_linestatus = 'O') THEN 'O' ELSE 'P' END AS status,
    CAST(round(sum(l_extendedprice * (1 + l_tax) * (1 - l_discount)), 2) AS DECIMAL(15,2)) AS total
    FROM lineitem GROUP BY l_orderkey) ORDER BY o;
"""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rows of each table that grows with the scale; an order has one to seven lines."""

    customers: int
    orders: int
    parts: int
    suppliers: int
    clerks: int

    @property
    def buyers(self) -> int:
        """Customers with orders: those whose number is no multiple of three."""
        return self.customers - self.customers // 3


def sizes(scale: float) -> Sizes:
    """The specification's row counts at a scale; ``ValueError`` below the least."""
    if not scale >= LEAST_SCALE:
        raise ValueError(f"the least scale is {LEAST_SCALE}")
    return Sizes(*(round(scale * rows) for rows in (150_000, 1_500_000, 200_000, 10_000, 1_000)))


def generate(path: Path, scale: float) -> None:
    """Write a DuckDB file with the eight tables; ``path`` must not exist."""
    if path.exists():
        raise FileExistsError(f"{path} exists already")
    size = sizes(scale)
    numbers = {"customers", "orders", "parts", "suppliers", "clerks", "buyers"}
    with duckdb.connect(str(path)) as connection:
        connection.execute(SCHEMA)
        for name, values in LISTS.items():
            connection.execute(f"SET VARIABLE {name} = ?", [list(values)])
        for name in numbers:
            connection.execute(f"SET VARIABLE {name} = {getattr(size, name)}")
        connection.execute(MACROS)
        for key, name in enumerate(REGIONS):
            connection.execute("INSERT INTO region VALUES (?, ?, saying(?, 80))", [key, name, key])
        for key, (name, region) in enumerate(NATIONS):
            connection.execute("INSERT INTO nation VALUES (?, ?, ?, saying(?, 90))", [key, name, region, key])
        for rows in (PUBLIC_ROWS, PEOPLE_ROWS, LINE_ROWS, ORDER_ROWS):
            connection.execute(rows)


def main(arguments: list[str]) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="examples.tpch.generate", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", type=float, default=LEAST_SCALE, help="1 is 150,000 customers")
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    try:
        generate(given.folder / "tpch.duckdb", given.scale)
    except (ValueError, FileExistsError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
