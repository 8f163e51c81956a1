"""A small shop, the same in a proxy and in a PostgreSQL: what tools ask of it can be compared."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

import psycopg

from tests.postgres import Server
from tests.proxies import Proxy, write_home

CUSTOMERS, ORDERS = 240, 960
TABLES = (
    """CREATE TABLE countries (code text PRIMARY KEY, name text NOT NULL, region text, population bigint,
      area numeric(12,2), founded date, eu boolean)""",
    """CREATE TABLE customers (id integer PRIMARY KEY, country text, segment text, age integer,
      income double precision, born date, active boolean, signed_up timestamp)""",
    """CREATE TABLE orders (id integer PRIMARY KEY, customer_id integer NOT NULL REFERENCES customers (id),
      created_at timestamp, ordered_on date, status text, amount numeric(10,2), quantity integer,
      discount double precision)""",
)
VIEW = "CREATE VIEW order_totals AS SELECT status, count(*) AS n, sum(amount) AS total FROM orders GROUP BY status"
COUNTRIES = """INSERT INTO countries VALUES
  ('AT', 'Austria', 'Europe', 9000000, 83879.00, '1918-11-12', true),
  ('BR', 'Brazil', 'America', 215000000, 8515767.05, '1822-09-07', false),
  ('CH', 'Switzerland', 'Europe', 8700000, 41285.00, '1291-08-01', false),
  ('JP', 'Japan', 'Asia', 125000000, 377975.21, NULL, false),
  ('XX', 'Nowhere', NULL, NULL, NULL, NULL, NULL)"""
POLICY = """
ALTER TABLE countries SET PRIVACY PUBLIC;
ALTER TABLE customers SET PRIVACY KEY (id);
ALTER TABLE customers SET PRIVACY CEILING EPSILON 1000000000 DELTA 0.1;
ALTER TABLE customers ALTER COLUMN country SET PRIVACY DOMAIN IN ('AT', 'BR', 'CH', 'JP');
ALTER TABLE customers ALTER COLUMN segment SET PRIVACY DOMAIN IN ('home', 'office', 'school');
ALTER TABLE customers ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 18 AND 97;
ALTER TABLE customers ALTER COLUMN income SET PRIVACY DOMAIN BETWEEN 0 AND 100000;
ALTER TABLE customers ALTER COLUMN born SET PRIVACY DOMAIN BETWEEN DATE '1920-01-01' AND DATE '2010-12-31';
ALTER TABLE customers ALTER COLUMN active SET PRIVACY DOMAIN IN (true, false);
ALTER TABLE customers ALTER COLUMN signed_up SET PRIVACY
  DOMAIN BETWEEN TIMESTAMP '2022-01-01 00:00:00' AND TIMESTAMP '2023-12-31 23:59:59';
ALTER TABLE orders SET PRIVACY KEY (customer_id) REFERENCES customers (id) MAX ROWS 8;
ALTER TABLE orders ALTER COLUMN id SET PRIVACY DOMAIN BETWEEN 1 AND 100000;
ALTER TABLE orders ALTER COLUMN created_at SET PRIVACY
  DOMAIN BETWEEN TIMESTAMP '2024-01-01 00:00:00' AND TIMESTAMP '2024-06-30 23:59:59';
ALTER TABLE orders ALTER COLUMN ordered_on SET PRIVACY DOMAIN BETWEEN DATE '2024-01-01' AND DATE '2024-06-30';
ALTER TABLE orders ALTER COLUMN status SET PRIVACY DOMAIN IN ('new', 'paid', 'returned', 'shipped');
ALTER TABLE orders ALTER COLUMN amount SET PRIVACY DOMAIN BETWEEN 0 AND 500;
ALTER TABLE orders ALTER COLUMN quantity SET PRIVACY DOMAIN BETWEEN 1 AND 9;
ALTER TABLE orders ALTER COLUMN discount SET PRIVACY DOMAIN BETWEEN 0 AND 1;
CREATE PRIVACY BUDGET research LIMIT EPSILON 1000000000 DELTA 0.1 MAX EPSILON 1000000 DEFAULT EPSILON 1000000;
GRANT SELECT ON customers, orders, order_totals TO analyst WITH PRIVACY BUDGET research;
GRANT SELECT ON countries TO analyst;
"""
"""Epsilon 1,000,000 a statement: noise is next to nothing, and answers can be compared."""
OPEN = """
CREATE PROTECTED VIEW customers_open WITH (method = dp_kdtree, epsilon = 5)
  AS SELECT age, country, income FROM customers;
GRANT SELECT ON customers_open TO analyst;
"""

PROTECTED = "CREATE VIEW customers_open AS SELECT age, country, income FROM customers"
TOLD = (
    """SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass::text, conname,
      pg_get_constraintdef(oid)) FROM pg_constraint WHERE contype = 'c' AND connamespace = 2200""",
    """SELECT format('COMMENT ON %s %s IS %L', CASE c.relkind WHEN 'r' THEN 'TABLE' ELSE 'VIEW' END, c.relname,
      d.description) FROM pg_description d JOIN pg_class c ON c.oid = d.objoid
      WHERE d.objsubid = 0 AND c.relnamespace = 2200""",
    """SELECT format('COMMENT ON COLUMN %s.%s IS %L', c.relname, a.attname, d.description) FROM pg_description d
      JOIN pg_class c ON c.oid = d.objoid JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid
      WHERE c.relnamespace = 2200""",
    """SELECT format('CREATE VIEW dp.%I AS SELECT %s', c.relname, string_agg(format('NULL::%s AS %I',
      format_type(a.atttypid, a.atttypmod), a.attname), ', ' ORDER BY a.attnum)) FROM pg_class c
      JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relnamespace = 'dp'::regnamespace GROUP BY c.relname""",
)
"""Questions to a proxy whose rows are statements: what it says of tables beside their columns."""
_SHOWN = ("countries", "customers", "orders", "order_totals", "customers_open", "dp.budgets", "dp.ledger")
_MAY = ("REVOKE ALL ON {} FROM admin", "GRANT SELECT ON {} TO admin", "GRANT SELECT ON {} TO ann")
RIGHTS = ("GRANT USAGE ON SCHEMA dp TO ann", *(right.format(name) for name in _SHOWN for right in _MAY))


def rows() -> Iterator[str]:
    """INSERT statements that both engines read."""
    yield COUNTRIES
    customers, orders = list[tuple[object, ...]](), list[tuple[object, ...]]()
    for i in range(1, CUSTOMERS + 1):
        country, segment = ("AT", "BR", "CH", "JP")[i * 7 % 4], ("home", "office", "school")[i // 4 % 3]
        born = date(1927, 1, 1) + timedelta(days=i * 113 % 29000)
        signed_up = datetime(2022, 1, 1) + timedelta(minutes=i * 4337)  # noqa: DTZ001
        customers.append(
            (i, country, segment, 18 + i * 11 % 80, i * 37 % 1000 * 100 + 0.5, born, i % 3 > 0, signed_up)
        )
    for i in range(1, ORDERS + 1):
        at = datetime(2024, 1, 1) + timedelta(minutes=i * 271)  # noqa: DTZ001
        status = ("new", "paid", "returned", "shipped")[i * 37 % 11 % 4]
        amount = f"{i * 7919 % 50000 / 100:.2f}"
        orders.append(
            (i, 1 + i * 17 % CUSTOMERS, at, at.date(), status, amount, 1 + i % 9, i % 5 / 4)
        )  # fmt: skip
    for table, made in (("customers", customers), ("orders", orders)):
        yield f"INSERT INTO {table} VALUES " + ", ".join(map(_row, made))


def _row(values: tuple[object, ...]) -> str:
    return "(" + ", ".join(f"'{value}'" for value in values) + ")"


def home(folder: Path) -> Path:
    """The configuration of a proxy over the shop."""
    return write_home(folder, (*TABLES, *rows(), VIEW), POLICY + OPEN)


_ROLES = ("admin", "analyst", "ann")


def copied(server: Server, proxy: Proxy) -> str:
    """A database of the server with the same tables, keys, checks and comments; how ann reaches it.

    What the policy makes of the tables is told by the proxy: its checks, comments and schema ``dp`` are copied.
    """
    with psycopg.connect(server.url(), autocommit=True) as connection:
        for role in _ROLES:
            connection.execute(f"CREATE ROLE {role} LOGIN".encode())
        connection.execute(
            b"GRANT analyst, admin TO ann"
        )  # keys are told to owners there, here to who sees the columns
        connection.execute(b"CREATE DATABASE main TEMPLATE template0 OWNER admin")
    url = server.url("main")
    with (
        psycopg.connect(proxy.dsn(), autocommit=True) as ours,
        psycopg.connect(url.replace("postgres@", "admin@"), autocommit=True) as theirs,
    ):
        made = (*TABLES, *rows(), VIEW, PROTECTED, "CREATE SCHEMA dp")
        told = (str(row[0]) for sql in TOLD for row in ours.execute(sql.encode()).fetchall())
        for statement in (*made, *told, *RIGHTS):
            theirs.execute(statement.encode())
    return url.replace("postgres@", "ann@")
