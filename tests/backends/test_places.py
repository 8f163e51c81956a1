"""Tables of several schemas, from the files to the client: DuckDB and PostgreSQL serve them alike."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpproxy.backends.places import together
from dpproxy.values.errors import StartupError
from dpproxy.values.pgtypes import INT8, TEXT, Column, ForeignKey, Schema
from tests.postgres import Server
from tests.proxies import Proxy, serving, started, write_home

DDL = (
    "CREATE SCHEMA clinic",
    'CREATE SCHEMA "Lab"',
    "CREATE SCHEMA unserved",
    "CREATE TABLE clinic.patients (id INTEGER PRIMARY KEY, age INTEGER, ward VARCHAR(9) NOT NULL)",
    'CREATE TABLE "Lab"."Samples" (patient INTEGER, value INTEGER)',
    "CREATE TABLE clinic.visits (patient INTEGER, cost INTEGER)",
    "CREATE TABLE clinic.wards (ward VARCHAR(9), beds INTEGER)",
    "CREATE TABLE visits (patient INTEGER, cost INTEGER)",
    "CREATE TABLE unserved.secrets (x INTEGER)",
    "INSERT INTO clinic.patients SELECT i, i % 90, CASE WHEN i % 4 = 0 THEN 'A' ELSE 'B' END FROM {series}",
    "INSERT INTO clinic.visits SELECT i, 10 FROM {series}",
    'INSERT INTO "Lab"."Samples" SELECT i, 2 FROM {series}',
    "INSERT INTO visits SELECT i, 50 FROM {series}",
    "INSERT INTO clinic.wards VALUES ('A', 3), ('B', 7)",
)
POLICY = """
ALTER TABLE clinic.wards SET PRIVACY PUBLIC;
ALTER TABLE clinic.patients SET PRIVACY KEY (id);
ALTER TABLE clinic.patients SET PRIVACY CEILING EPSILON 1000;
ALTER TABLE clinic.patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100;
ALTER TABLE clinic.patients ALTER COLUMN ward SET PRIVACY DOMAIN REFERENCES clinic.wards (ward);
ALTER TABLE clinic.visits SET PRIVACY KEY (patient) REFERENCES clinic.patients (id) MAX ROWS 2;
ALTER TABLE clinic.visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 100;
ALTER TABLE "Lab"."Samples" SET PRIVACY KEY (patient) REFERENCES clinic.patients (id) MAX ROWS 2;
ALTER TABLE "Lab"."Samples" ALTER COLUMN value SET PRIVACY DOMAIN BETWEEN 0 AND 10;
ALTER TABLE public.visits SET PRIVACY KEY (patient) MAX ROWS 2;
ALTER TABLE visits SET PRIVACY CEILING EPSILON 1000;
ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 100;
CREATE PRIVACY BUDGET research LIMIT EPSILON 1000 DEFAULT EPSILON 4;
GRANT SELECT ON clinic.patients TO analyst WITH PRIVACY BUDGET research;
GRANT SELECT ON clinic.visits TO analyst WITH PRIVACY BUDGET research;
GRANT SELECT ON "Lab"."Samples" TO analyst WITH PRIVACY BUDGET research;
GRANT SELECT ON visits TO analyst WITH PRIVACY BUDGET research;
"""
SCHEMAS = 'schemas = ["clinic", "Lab"]'
Connection = psycopg.Connection[tuple[object, ...]]


def _written(folder: Path, data: str, policy: str = POLICY) -> Path:
    file = write_home(folder, (), policy)
    file.write_text(file.read_text().replace('path = "data.duckdb"', data))
    return file


def _duckdb(folder: Path) -> str:
    """A file whose name is also that of a schema."""
    path = folder / "made.duckdb"
    with duckdb.connect(path) as connection:
        for statement in DDL:
            connection.execute(statement.format(series="range(1, 1001) AS r(i)"))
    path = path.rename(folder / "clinic.duckdb")
    return f'path = "{path}"'


def _postgres(server: Server) -> str:
    name = server.database(name="places")
    with psycopg.connect(server.url(name), autocommit=True) as connection:
        for statement in DDL:
            connection.execute(statement.format(series="generate_series(1, 1000) AS r(i)").encode())
        if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'places'").fetchone() is None:
            connection.execute("CREATE ROLE places LOGIN")
        for schema in ("clinic", '"Lab"', "public", "unserved"):
            connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO places".encode())
            connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO places".encode())
    return f'url = "{server.url(name).replace("postgres@", "places@")}"'


@pytest.fixture(scope="module", params=["duckdb", "postgresql"])
def proxy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("places")
    is_file = request.param == "duckdb"
    data = _duckdb(folder) if is_file else _postgres(request.getfixturevalue("postgres"))
    with serving(_written(folder, f"{data}\n{SCHEMAS}")) as found:
        yield found


@pytest.fixture
def client(proxy: Proxy) -> Iterator[Connection]:
    with psycopg.connect(proxy.dsn(), autocommit=True) as connection:
        yield connection


def _number(connection: Connection, sql: str) -> int:
    [(value,)] = connection.execute(sql.encode()).fetchall()
    return int(str(value))


# Noise of epsilon 4 on a sum within 2 * 100 is beyond 2,000 less than once in e^40.


def test_a_table_is_asked_behind_its_schema(client: Connection):
    assert abs(_number(client, "SELECT sum(cost) FROM clinic.visits") - 10_000) < 2_000
    assert abs(_number(client, "SELECT sum(cost) FROM visits") - 50_000) < 2_000
    assert abs(_number(client, 'SELECT sum(s.value) FROM "Lab"."Samples" AS s') - 2_000) < 400
    assert abs(_number(client, "SELECT sum(clinic.visits.cost) FROM clinic.visits") - 10_000) < 2_000
    rows = client.execute("SELECT ward, count(*) FROM clinic.patients GROUP BY ward ORDER BY ward").fetchall()
    assert [ward for ward, _ in rows] == ["A", "B"]
    joined = 'SELECT count(*) FROM clinic.patients p JOIN "Lab"."Samples" s ON s.patient = p.id'
    assert abs(_number(client, joined) - 1_000) < 100


def test_a_name_alone_is_looked_up_along_the_path(client: Connection):
    client.execute("SET search_path = nowhere, clinic, public")
    assert client.execute("SHOW search_path").fetchall() == [("nowhere, clinic, public",)]
    assert abs(_number(client, "SELECT sum(cost) FROM visits") - 10_000) < 2_000
    assert abs(_number(client, "SELECT sum(cost) FROM public.visits") - 50_000) < 2_000
    assert abs(_number(client, "SELECT sum(clinic.visits.cost) FROM visits") - 10_000) < 2_000
    hidden = "WITH visits AS (SELECT beds FROM wards) SELECT sum(beds) FROM visits"
    assert _number(client, hidden) == 10
    client.execute("SET search_path = public, clinic")
    assert abs(_number(client, "SELECT sum(cost) FROM visits") - 50_000) < 2_000
    assert _number(client, "SELECT sum(beds) FROM wards") == 10


def test_the_path_is_set_at_login_and_told(proxy: Proxy):
    with psycopg.connect(proxy.dsn(options=r"'-c search_path=\"Lab\",clinic'"), autocommit=True) as client:
        assert abs(_number(client, 'SELECT sum(value) FROM "Samples"') - 2_000) < 400
        assert client.execute("SELECT current_schema()").fetchall() == [("Lab",)]
        assert client.execute("SELECT current_schemas(true)").fetchall() == [
            (["pg_catalog", "Lab", "clinic"],)
        ]
        client.execute("SET search_path = nowhere")
        assert client.execute("SELECT current_schema(), current_schemas(false)").fetchall() == [(None, [])]


@pytest.mark.parametrize(
    ("sql", "told", "hint"),
    [
        ("SELECT count(*) FROM patients", 'relation "patients" does not exist', "FROM clinic.patients"),
        ("SELECT count(*) FROM unserved.secrets", 'relation "unserved.secrets" does not exist', ""),
        (
            "SELECT count(*) FROM public.patients",
            'relation "patients" does not exist',
            "FROM clinic.patients",
        ),
        ("SELECT age FROM clinic.patients", "rows are not shown", "FROM clinic.patients GROUP BY age"),
    ],
)
def test_what_is_refused_names_the_schema(client: Connection, sql: str, told: str, hint: str):
    with pytest.raises(psycopg.Error) as caught:
        client.execute(sql.encode())
    assert told in str(caught.value.diag.message_primary)
    assert hint in (caught.value.diag.message_hint or "")


def test_the_catalogue_has_the_schemas(client: Connection):
    listed = "SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg%' ORDER BY 1"
    assert [name for (name,) in client.execute(listed.encode())] == [
        "Lab", "clinic", "dp", "information_schema", "public",
    ]  # fmt: skip
    tables = client.execute(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema <> 'dp' ORDER BY 1, 2"
    ).fetchall()
    assert tables == [
        ("Lab", "Samples"), ("clinic", "patients"), ("clinic", "visits"), ("clinic", "wards"), ("public", "visits"),
    ]  # fmt: skip
    seen = (
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND pg_table_is_visible(oid) AND relname !~ '^pg_'"
    )
    assert client.execute(seen.encode()).fetchall() == [("visits",)]
    assert client.execute("SELECT 'clinic.visits'::regclass::text, 'visits'::regclass::text").fetchall() == [
        ("clinic.visits", "visits")
    ]
    keys = client.execute(
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f' ORDER BY conrelid::regclass::text"
    ).fetchall()
    assert ("FOREIGN KEY (patient) REFERENCES clinic.patients(id)",) in keys
    client.execute("SET search_path = clinic")
    found = {name for (name,) in client.execute(seen.encode())}
    assert found == {"patients", "visits", "wards"}
    assert client.execute("SELECT 'clinic.visits'::regclass::text").fetchall() == [("visits",)]


def test_the_policy_is_told_as_it_is_declared(proxy: Proxy):
    with psycopg.connect(proxy.dsn("root"), autocommit=True) as client:
        told = str(client.execute("SHOW PRIVACY POLICY FOR clinic.visits").fetchall())
        assert "'clinic.visits', None, 'KEY (patient) REFERENCES clinic.patients (id) MAX ROWS 2'" in told
        client.execute("ALTER TABLE clinic.visits SET PRIVACY EXPECTED ROWS 1000")
        with pytest.raises(psycopg.Error, match=r'table "clinic\.nothing" does not exist'):
            client.execute("ALTER TABLE clinic.nothing SET PRIVACY PUBLIC")


def test_declarations_are_of_no_table_that_queries_do_not_find(proxy: Proxy):
    with psycopg.connect(proxy.dsn("root"), autocommit=True) as root:
        root.execute("SET search_path = clinic, public")
        for before in ("", "EXPLAIN (PRIVACY) "):
            with pytest.raises(psycopg.errors.InvalidParameterValue, match="in several schemas"):
                root.execute(f"{before}ALTER TABLE visits SET PRIVACY PUBLIC")
            root.execute(f"{before}ALTER TABLE public.visits SET PRIVACY CEILING EPSILON 1000")
            root.execute("RESET search_path")
            root.execute(f"{before}ALTER TABLE visits SET PRIVACY CEILING EPSILON 1000")
            root.execute("SET search_path = clinic, public")


def test_views_and_cubes_are_of_the_tables_that_the_path_finds(proxy: Proxy, client: Connection):
    made = "SELECT avg(cost) AS cost FROM {} GROUP BY patient"
    view = f"CREATE PROTECTED VIEW paid WITH (method = dp_kdtree, epsilon = 100) AS {made}"
    cube = "CREATE PRIVACY CUBE cells ON {} (cost WIDTH 20) MEASURES (count(*)) WITH (epsilon = 100)"
    with psycopg.connect(proxy.dsn("root"), autocommit=True) as administrator:
        administrator.execute("SET search_path = clinic, public")
        for sql in (view, cube):
            [(told, *_), *_] = administrator.execute(
                f"EXPLAIN (PRIVACY) {sql.format('visits')}".encode()
            ).fetchall()
            assert "cost 100" not in str(told)
            administrator.execute(sql.format("visits").encode())
            said: list[str] = []
            administrator.add_notice_handler(
                lambda notice, said=said: said.append(str(notice.message_primary))
            )
            administrator.execute("SET search_path = public")
            administrator.execute(sql.format("clinic.visits").encode())
            assert "is built as declared already" in said[0]
            administrator.execute("SET search_path = clinic, public")
        administrator.execute("GRANT SELECT ON paid TO analyst")
        [(mean,)] = client.execute("SELECT avg(cost) FROM paid").fetchall()
        assert abs(float(str(mean)) - 10) < 5  # in public.visits it is 50
        with pytest.raises(psycopg.Error) as refused:
            administrator.execute("GRANT SELECT ON patients TO analyst WITH PRIVACY BUDGET research")
        assert "Write clinic.patients" in str(refused.value.diag.message_hint)


@pytest.mark.skipif(shutil.which("psql") is None, reason="without psql")
def test_psql_lists_what_is_in_a_schema(proxy: Proxy):
    def psql(command: str) -> str:
        run = ["psql", "-AtX", "-c", command]
        done = subprocess.run(run, env=proxy.environment(), capture_output=True, text=True, check=False)
        return done.stderr or done.stdout

    assert [line.split("|")[:2] for line in psql(r"\dt clinic.*").splitlines()] == [
        ["clinic", "patients"], ["clinic", "visits"], ["clinic", "wards"],
    ]  # fmt: skip
    assert "Lab" in psql(r"\dn")
    assert psql(r'\d "Lab"."Samples"').startswith("patient|integer")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('schemas = ["nothing"]', 'data.main.schemas: no table can be read in schema "nothing"'),
        ('schemas = ["public"]', '"public" is a name of the proxy\'s own'),
        ('schemas = ["pg_temp"]', '"pg_temp" is a name of the proxy\'s own'),
    ],
)
def test_a_schema_that_cannot_be_served_is_refused(tmp_path: Path, line: str, told: str):
    file = _written(tmp_path, f"{_duckdb(tmp_path)}\n{line}", "")
    with pytest.raises(StartupError) as caught, started(file):
        pass
    assert told in str(caught.value)


def test_files_have_no_schemas(tmp_path: Path):
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "t.csv").write_text("a\n1\n")
    file = _written(tmp_path, f'path = "rows"\n{SCHEMAS}', "")
    with (
        pytest.raises(StartupError, match="expected beside a PostgreSQL url or a DuckDB file"),
        started(file),
    ):
        pass


def test_two_tables_of_one_name_are_none():
    one, column = {"t": (Column("x", INT8),)}, (Column("y", TEXT),)
    public = Schema({**one, "a.B.t": column, "keeps": column})
    found = together(public, {"a": Schema({"b.T": column, "u": column}), "A.b": Schema(one)})
    assert sorted(found.tables) == ["a.u", "keeps", "t"]
    assert found.places == {"a.u": ("a", "u")}
    key = ForeignKey("u", ("x",), "v", ("y",))
    assert together(public, {"a": Schema({"u": column}, (key,))}).constraints == (
        ForeignKey("a.u", ("x",), "a.v", ("y",)),
    )


def test_the_schema_of_one_user_is_not_anothers(tmp_path: Path):
    """Of the default path: what was planned for one is not found again for the other."""
    path = tmp_path / "own.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            "CREATE SCHEMA ann; CREATE TABLE ann.own AS SELECT 1 AS a; CREATE TABLE own AS SELECT 2 AS a"
        )
    policy = """
ALTER TABLE ann.own SET PRIVACY PUBLIC;
ALTER TABLE own SET PRIVACY PUBLIC;
GRANT SELECT ON ann.own TO analyst;
GRANT SELECT ON own TO analyst;
"""
    home = tmp_path / "home"
    home.mkdir()
    with serving(_written(home, f'path = "{path}"\nschemas = ["ann"]', policy)) as proxy:
        for user, found in (("bob", 2), ("ann", 1), ("bob", 2), ("ann", 1)):
            with psycopg.connect(proxy.dsn(user), autocommit=True) as connection:
                assert connection.execute("SELECT a FROM own").fetchall() == [(found,)], user
