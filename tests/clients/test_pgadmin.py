"""pgAdmin 4, the real one: a user adds the proxy, opens its tree, looks at the dashboard, and asks."""

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.clients import tools
from tests.ports import free_port
from tests.proxies import PASSWORD, Proxy

pytestmark = [pytest.mark.external, pytest.mark.clients, pytest.mark.timeout(600)]
KINDS = (
    "aggregate", "collation", "domain", "foreign_table", "fts_configuration", "fts_dictionary", "fts_parser",
    "fts_template", "function", "procedure", "trigger_function", "operator", "sequence", "type",
)  # fmt: skip
"""What a schema can hold, and none of ours does."""
PARTS = ("column", "trigger", "rule", "index")
PARTS_OF_TABLES = ("primary_key", "foreign_key", "unique_constraint", "exclusion_constraint", "check_constraint",
                   "row_security_policy", "partition")  # fmt: skip
TABS = ("obj", "sql", "dependency", "dependent")
"""What is shown of an object: properties, SQL, what it depends on and what depends on it."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The tree below one database; paths are as pgAdmin's own: group, server, database, schema, relation."""

    browser: tools.Browser
    server: str
    database: str

    @property
    def root(self) -> str:
        return f"1/{self.server}/{self.database}"

    def nodes(self, kind: str, path: str) -> dict[str, str]:
        """Numbers of what stands below, by name."""
        status, text = self.browser.page("GET", f"/browser/{kind}/nodes/{path}/")
        # pgAdmin fails over a table that has no check constraint, whosever it is.
        assert status == 200 or kind == "check_constraint", text
        found = json.loads(text)["data"] if status == 200 else []
        return {node["label"]: str(node["_id"]) for node in found}

    def look(self, kind: str, path: str) -> dict[str, Any]:
        """All tabs of an object."""
        return {tab: self.browser.get(f"/browser/{kind}/{tab}/{path}") for tab in TABS}

    def relation(self, kind: str, name: str) -> str:
        """Where a relation of public is."""
        schema = f"{self.root}/{self.nodes('schema', self.root)['public']}"
        return f"{schema}/{self.nodes(kind, schema)[name]}"


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with tools.proxy(tmp_path_factory.mktemp("pgadmin-proxy")) as found:
        yield found


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tools.Browser]:
    """A desktop pgAdmin with a home of its own, opened."""
    venv, home = tools.installed(".venv-pgadmin"), tmp_path_factory.mktemp("pgadmin")
    port = free_port()
    environment = {
        **os.environ, "HOME": str(home), "PGADMIN_SERVER_MODE": "OFF", "PGADMIN_INT_PORT": str(port),
    }  # fmt: skip
    [program] = venv.glob("lib/python*/site-packages/pgadmin4/pgAdmin4.py")
    command = [str(venv / "bin" / "python"), str(program)]
    with tools.served(command, environment, home, f"http://127.0.0.1:{port}", "/misc/ping") as browser:
        browser.page("GET", "/browser/")
        found = re.search(r"csrf_token'\] = '([^']+)'", browser.page("GET", "/browser/js/utils.js")[1])
        assert found is not None
        browser.headers["X-pgA-CSRFToken"] = found[1]
        browser.get("/browser/master_password", {"password": "x", "submit_password": True}, "POST")
        yield browser


FUNCTIONS = {'ci_high("any")', 'ci_low("any")', 'noise_sd("any")'}
"""Of schema dp."""


@pytest.fixture(scope="module")
def tree(browser: tools.Browser, proxy: Proxy) -> Iterator[Tree]:
    """The proxy as a server of pgAdmin's, connected."""
    fields = {
        "name": "proxy", "host": "127.0.0.1", "port": proxy.port, "username": "ann", "db": "main", "gid": 1,
        "connect_now": False, "connection_params": [{"name": "sslmode", "keyword": "sslmode", "value": "prefer"}],
    }  # fmt: skip
    server = browser.get("/browser/server/obj/1/", fields, "POST")["node"]["_id"]
    connected = browser.get(f"/browser/server/connect/1/{server}", {"password": PASSWORD}, "POST")
    assert connected["success"] == 1
    databases = Tree(browser, server, "").nodes("database", f"1/{server}")
    assert list(databases) == ["main"]
    browser.get(f"/browser/database/connect/1/{server}/{databases['main']}", {}, "POST")
    yield Tree(browser, server, databases["main"])
    assert browser.get(f"/browser/server/connect/1/{server}", method="DELETE")["success"] == 1


def test_the_server_and_its_database(tree: Tree):
    assert {"admin", "analyst", "ann"} <= set(tree.nodes("role", f"1/{tree.server}"))
    assert "pg_default" in tree.nodes("tablespace", f"1/{tree.server}")
    told = tree.look("database", tree.root)
    assert (told["obj"]["name"], told["obj"]["encoding"], told["obj"]["cancreate"]) == ("main", "UTF8", False)
    assert "CREATE DATABASE main" in told["sql"]
    for role in tree.nodes("role", f"1/{tree.server}").values():
        tree.look("role", f"1/{tree.server}/{role}")


@pytest.mark.parametrize(
    "kind", ["cast", "event_trigger", "extension", "foreign_data_wrapper", "publication", "subscription"]
)
def test_what_no_database_here_has(tree: Tree, kind: str):
    assert tree.nodes(kind, tree.root) == {}


def test_schemas(tree: Tree):
    schemas = tree.nodes("schema", tree.root)
    assert set(schemas) == {"dp", "public"}
    for name, number in schemas.items():
        place = f"{tree.root}/{number}"
        tree.look("schema", place)
        assert tree.browser.get(f"/browser/schema/children/{place}")["success"] == 1
        for kind in KINDS:
            found = tree.nodes(kind, place)
            assert set(found) == (FUNCTIONS if (name, kind) == ("dp", "function") else set())
            for each in found.values():
                tree.look(kind, f"{place}/{each}")
    assert len(tree.nodes("catalog", tree.root)) == 2


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("table", "people"),
        ("table", "towns"),
        ("view", "spent"),
        ("view", "people_open"),
    ],
)
def test_a_relation_and_all_its_parts(tree: Tree, kind: str, name: str):
    path = tree.relation(kind, name)
    assert tree.look(kind, path)["obj"]["name"] == name
    for part in (*PARTS, *(PARTS_OF_TABLES if kind == "table" else ())):
        for number in list(tree.nodes(part, path).values())[:2]:
            if part != "rule":  # its definition is not shown, which pgAdmin takes for a fault
                tree.look(part, f"{path}/{number}")
    assert name in tree.browser.get(f"/browser/{kind}/select_sql/{path}")


def test_hidden_tables_are_not_in_the_tree(tree: Tree):
    schema = f"{tree.root}/{tree.nodes('schema', tree.root)['public']}"
    assert set(tree.nodes("table", schema)) == {"people", "towns", "visits"}
    found = tree.browser.get(f"/search_objects/search/{tree.server}/{tree.database}?text=s&type=all")["data"]
    names = {item["name"] for item in found}
    assert {"spent", "towns", "visits"} <= names
    assert "salaries" not in names


def test_the_sql_of_a_table_is_what_is_declared(tree: Tree):
    sql = tree.browser.get(f"/browser/table/sql/{tree.relation('table', 'people')}")
    assert "age integer NOT NULL," in sql
    assert "paid numeric(10,2)," in sql
    assert "CONSTRAINT people_age_check CHECK (age >= 0 AND age <= 110)" in sql
    assert 'town text COLLATE pg_catalog."default"' in sql
    assert "COMMENT ON TABLE public.people\n    IS 'Answered with noise" in sql
    assert "GRANT SELECT ON TABLE public.people TO ann;" in sql


def test_counting_rows(tree: Tree):
    people = tree.browser.get(f"/browser/table/count_rows/{tree.relation('table', 'people')}")
    assert 970 < int(people["data"]["total_rows"]) < 1030
    towns = tree.browser.get(f"/browser/table/count_rows/{tree.relation('table', 'towns')}")
    assert towns["data"]["total_rows"] == "3"


def test_the_dashboard(tree: Tree):
    own = f"{tree.server}/{tree.database}"
    charts = ("session_stats", "tps_stats", "ti_stats", "to_stats", "bio_stats")
    for _ in range(2):
        found = tree.browser.get(f"/dashboard/dashboard_stats/{own}?chart_names={','.join(charts)}")
        assert set(found) == set(charts)
        assert found["session_stats"].keys() == {"Total", "Active", "Idle"}
    assert set(tree.browser.get(f"/dashboard/activity/{own}")[0]) == {"activity", "locks", "prepared"}
    settings = {row["name"]: row["setting"] for row in tree.browser.get(f"/dashboard/config/{tree.server}")}
    assert settings["server_encoding"] == "UTF8"
    for page in ("replication_stats", "replication_slots"):
        tree.browser.get(f"/dashboard/{page}/{tree.server}")


@pytest.fixture(scope="module")
def query(tree: Tree) -> Callable[[str], tuple[int, Any]]:
    """The query tool: what its page shows of a statement."""
    where, fields = 4711, {"user": "ann", "password": PASSWORD, "dbname": "main"}
    tree.browser.get(f"/sqleditor/initialize/sqleditor/{where}/{tree.root}", fields, "POST")

    def run(sql: str) -> tuple[int, Any]:
        tree.browser.get(f"/sqleditor/query_tool/start/{where}", {"sql": sql, "explain_plan": None}, "POST")
        return polled(tree.browser, where)

    return run


def polled(browser: tools.Browser, where: int) -> tuple[int, Any]:
    last = time.monotonic() + tools.WAIT
    while True:
        status, found = browser.ask("GET", f"/sqleditor/poll/{where}")
        if status != 200 or found["data"]["status"] != "Busy":
            return status, found
        assert time.monotonic() < last
        time.sleep(0.05)


def test_a_statement_and_its_price(query: Callable[[str], tuple[int, Any]]):
    status, found = query("SELECT town, count(*), avg(age) FROM people WHERE age > 5 GROUP BY town")
    assert (status, found["data"]["status"]) == (200, "Success")
    assert [row[0] for row in found["data"]["result"]] == ["Bern", "Oslo", "Rome"]
    assert [c["display_name"] for c in found["data"]["colinfo"]] == ["town", "count", "avg"]
    assert "NOTICE:  cost 1 epsilon" in found["data"]["additional_messages"]


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT age FROM people", "HINT:  Protected view people_open answers it"),
        ("SELECT count(*) FROM salaries", 'relation "salaries" does not exist'),
        ("EXPLAIN (FORMAT JSON, ANALYZE false) SELECT count(*) FROM people", "EXPLAIN (PRIVACY)"),
        ("INSERT INTO towns VALUES ('Graz')", "read-only"),
    ],
)
def test_an_error(query: Callable[[str], tuple[int, Any]], sql: str, told: str):
    status, found = query(sql)
    assert status == 500
    assert told in found["errormsg"]
    status, found = query("SELECT n FROM towns ORDER BY n LIMIT 1")
    assert (status, found["data"]["result"]) == (200, [[1]])


@pytest.mark.parametrize(
    ("kind", "name", "status"),
    [
        ("view", "people_open", 200),
        ("table", "towns", 200),
        ("view", "spent", 200),
        ("table", "people", 500),
    ],
)
def test_rows_of_a_relation(tree: Tree, kind: str, name: str, status: int):
    where, relation = sum(name.encode()), tree.relation(kind, name).rsplit("/", 1)[1]
    tree.browser.get(
        f"/sqleditor/initialize/viewdata/{where}/3/{kind}/{tree.root}/{relation}",
        {"sql_filter": "", "dbname": "main"},
        "POST",
    )
    tree.browser.get(f"/sqleditor/view_data/start/{where}")
    assert polled(tree.browser, where)[0] == status


def test_it_completes_names(tree: Tree, query: Callable[[str], tuple[int, Any]]):
    del query
    found = tree.browser.get("/sqleditor/autocomplete/4711", ["SELECT  FROM people", "SELECT "], "POST")
    offered = found["data"]["result"]
    assert offered["age"] == {"object_type": "column"}
    found = tree.browser.get("/sqleditor/autocomplete/4711", ["SELECT * FROM ", "SELECT * FROM "], "POST")
    assert found["data"]["result"]["people_open"] == {"object_type": "view"}
    assert "salaries" not in found["data"]["result"]
