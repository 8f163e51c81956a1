"""The tables that the pages speak of, and a policy over them: what ``sql`` and ``sh`` blocks run against."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from dpproxy.policy.parser import is_privacy_statement
from dpproxy.session.messages import split
from tests.docs.blocks import ROOT, Block
from tests.proxies import Proxy, serving, write_home

USERS = {"ann": ["analyst"], "bob": ["intern"], "dpo": ["dpo"], "root": ["admin"]}
DDL = (
    f"CREATE TABLE adult AS FROM '{ROOT}/examples/data/adult.parquet'",
    """CREATE TABLE patients AS SELECT i AS patient_id, (i * 37 % 100)::INTEGER AS age, ['f', 'm'][1 + i % 2] AS sex,
      '43' || (i % 7) AS zip, (i * 7 % 900)::DECIMAL(8,2) AS cost, ['north', 'south', 'west'][1 + i % 3] AS region,
      'name' || i AS name FROM range(1, 1201) AS r(i)""",
    """CREATE TABLE visits AS SELECT i AS visit_id, (1 + i % 1200)::BIGINT AS patient_id,
      ['north', 'south', 'west'][1 + i % 3] AS region, ['red', 'blue'][1 + i % 2] AS ward,
      ['Oslo', 'Rome', 'Bern'][1 + i % 3] AS town, (i * 13 % 1000)::DOUBLE AS cost, (2020 + i % 4)::INTEGER AS year,
      DATE '2020-01-01' + (i % 1400)::INTEGER AS day, (i % 30)::INTEGER AS days,
      ['A', 'A1', 'B'][1 + i % 3] AS diagnosis,
      json_object('device', ['phone', 'desk'][1 + i % 2], 'stay', json_object('nights', i % 9)) AS payload
      FROM range(4800) AS r(i)""",
    "CREATE TABLE survey AS SELECT (i % 10)::INTEGER AS answer FROM range(500) AS r(i)",
    "CREATE TABLE regions AS FROM (VALUES ('north', 'cold'), ('south', 'warm'), ('west', 'wet')) t(region, air)",
    "CREATE TABLE old AS SELECT 1 AS a",
    """CREATE TABLE wards AS FROM (VALUES ('north', 'red'), ('north', 'blue'), ('south', 'red'), ('south', 'blue'),
      ('west', 'red'), ('west', 'blue')) t(region, ward)""",
    "CREATE TABLE icd10_tree AS FROM (VALUES ('all', NULL), ('A', 'all'), ('B', 'all'), ('A1', 'A')) t(code, parent)",
    "CREATE TABLE census AS SELECT i AS age, 1000 - 10 * i AS people FROM range(100) AS r(i)",
    "CREATE VIEW stays AS SELECT patient_id, ward, cost FROM visits",
    "CREATE TABLE customer AS SELECT i AS c_custkey FROM range(100) AS r(i)",
    "CREATE TABLE orders AS SELECT i AS o_orderkey, i % 100 AS o_custkey FROM range(400) AS r(i)",
    "CREATE TABLE lineitem AS SELECT i % 400 AS l_orderkey, (i % 50)::DOUBLE AS l_quantity FROM range(900) AS r(i)",
    "CREATE TABLE sales AS SELECT i // 2 AS ticket, i % 2 AS item, i % 100 AS buyer FROM range(400) AS r(i)",
    "CREATE TABLE returns AS SELECT ticket, item, buyer FROM sales WHERE ticket % 10 = 0",
)
POLICY = """\
ALTER TABLE adult SET PRIVACY KEY ROW;
ALTER TABLE adult SET PRIVACY CEILING EPSILON 100;
ALTER TABLE adult ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 17 AND 90;
ALTER TABLE adult ALTER COLUMN hours_per_week SET PRIVACY DOMAIN BETWEEN 1 AND 99;
ALTER TABLE adult ALTER COLUMN sex SET PRIVACY DOMAIN IN ('Female', 'Male');
ALTER TABLE adult SET PRIVACY EXPECTED ROWS 30000;
ALTER TABLE regions SET PRIVACY PUBLIC;
ALTER TABLE wards SET PRIVACY PUBLIC;
ALTER TABLE icd10_tree SET PRIVACY PUBLIC;
ALTER TABLE census SET PRIVACY PUBLIC;
ALTER TABLE patients SET PRIVACY KEY (patient_id);
ALTER TABLE patients SET PRIVACY CEILING EPSILON 100 DELTA 0.001;
ALTER TABLE patients SET PRIVACY EXPECTED ROWS 1200;
ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110;
ALTER TABLE patients ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm');
ALTER TABLE patients ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 1000;
ALTER TABLE patients ALTER COLUMN zip SET PRIVACY DOMAIN IN ('430', '431', '432', '433', '434', '435', '436');
ALTER TABLE patients ALTER COLUMN region SET PRIVACY DOMAIN IN ('north', 'south', 'west');
ALTER TABLE patients ALTER COLUMN name SET PRIVACY DOMAIN DISCOVERED;
ALTER TABLE visits SET PRIVACY KEY (patient_id) REFERENCES patients (patient_id) MAX ROWS 4;
ALTER TABLE visits SET PRIVACY EXPECTED ROWS 4800;
ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('red', 'blue');
ALTER TABLE visits ALTER COLUMN region SET PRIVACY DOMAIN IN ('north', 'south', 'west');
ALTER TABLE visits ALTER COLUMN (payload ->> 'device') SET PRIVACY DOMAIN IN ('phone', 'desk');
ALTER TABLE visits ALTER COLUMN town SET PRIVACY DOMAIN DISCOVERED;
ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 1000;
ALTER TABLE visits ALTER COLUMN year SET PRIVACY DOMAIN BETWEEN 2018 AND 2025;
ALTER TABLE visits ALTER COLUMN day SET PRIVACY DOMAIN BETWEEN DATE '2020-01-01' AND DATE '2023-12-31';
ALTER TABLE customer SET PRIVACY KEY (c_custkey);
ALTER TABLE customer SET PRIVACY CEILING EPSILON 100;
ALTER TABLE orders SET PRIVACY KEY (o_custkey) REFERENCES customer (c_custkey) MAX ROWS 4;
ALTER TABLE lineitem SET PRIVACY KEY (l_orderkey) REFERENCES orders (o_orderkey) MAX ROWS 9;
ALTER TABLE sales SET PRIVACY KEY (buyer) REFERENCES customer (c_custkey) MAX ROWS 4;
ALTER TABLE returns SET PRIVACY KEY (buyer) REFERENCES customer (c_custkey) MAX ROWS 4;
CREATE PRIVACY TAXONOMY icd9 ON icd10_tree (code, parent);
CREATE PRIVACY BUDGET research LIMIT EPSILON 90 DELTA 0.0001 MAX EPSILON 50 DEFAULT EPSILON 0.1;
CREATE PRIVACY BUDGET teaching LIMIT EPSILON 8 DELTA 0.000001;
GRANT SELECT ON adult, patients, visits, stays, customer, orders, lineitem TO analyst WITH PRIVACY BUDGET research;
"""


@dataclass(slots=True)
class World:
    """A proxy over these tables; statements of policy are the administrator's, all others the analyst's."""

    proxy: Proxy
    connections: dict[str, psycopg.Connection[tuple[object, ...]]]

    def run(self, block: Block) -> list[str]:
        """What goes wrong with the statements of a block."""
        wrong = []
        for text in statements(block.text):
            user = "root" if is_privacy_statement(text) else "ann"
            try:
                _ask(self._connection(user), text)
            except psycopg.Error as error:
                wrong.append(f"{block}: {text!r}: {error.sqlstate}: {error} {error.diag.message_hint or ''}")
        return wrong

    def _connection(self, user: str) -> psycopg.Connection[tuple[object, ...]]:
        if user not in self.connections:
            self.connections[user] = psycopg.connect(self.proxy.dsn(user), autocommit=True)
        return self.connections[user]

    def close(self) -> None:
        """All sessions."""
        for connection in self.connections.values():
            connection.close()


def _ask(connection: psycopg.Connection[tuple[object, ...]], text: str) -> None:
    if not text.startswith("COPY"):
        connection.execute(text)
        return
    with connection.cursor().copy(text) as copied:
        assert list(copied)


def statements(text: str) -> list[str]:
    """The statements of a block, each with the comments before it: a hint is one."""
    found, start = [], 0
    for source in split(text):
        end = source.offset + len(source.text)
        found.append(text[start:end].strip())
        start = text.find(";", end) + 1
    return found


@contextmanager
def world(folder: Path) -> Iterator[World]:
    """A new one, in a folder of its own."""
    file = write_home(folder, DDL, POLICY, users=USERS)
    with serving(file) as proxy:
        made = World(proxy, {})
        try:
            made.run(Block("", 0, "sql", "", "SELECT count(*) FROM adult"))  # somebody has spent something
            yield made
        finally:
            made.close()
