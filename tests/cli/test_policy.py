"""``dpproxy check`` and ``dpproxy policy``: as a user types them; the other commands' documents for programs."""

import json
import shutil
from pathlib import Path

import pytest

from dpproxy.cli.main import main
from dpproxy.config.configuration import load_config
from dpproxy.engine.engine import Engine
from dpproxy.values.errors import StartupError
from tests.engine.test_engine import COUNT, DDL, POLICY, ROOT, ask
from tests.proxies import started, write_home

pytestmark = pytest.mark.usefixtures("in_process")


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a proxy that has run."""
    file = write_home(tmp_path_factory.mktemp("home"), DDL, POLICY)
    with started(file) as engine:
        ask(engine, COUNT)
    return file


@pytest.fixture
def config(state: Path, tmp_path: Path) -> Path:
    """Of a copy of them."""
    return shutil.copytree(state.parent, tmp_path, dirs_exist_ok=True) / state.name


def printed(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    assert main(list(words)) == status
    return capsys.readouterr().out


def test_diff_tells_what_files_would_change_and_changes_nothing(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    given = ("policy", "diff", "--config", str(config))
    assert printed(capsys, *given) == "dpproxy: nothing would change\n"
    file = tmp_path / "more.sql"
    file.write_text("ALTER TABLE t SET PRIVACY CEILING EPSILON 30;\n")
    before = printed(capsys, "policy", "dump", "--config", str(config))
    first, *statements = printed(capsys, "policy", "diff", str(file), "--config", str(config)).splitlines()
    assert first == "table t [weaker]: 27 more epsilon may be learned about one unit"
    assert [line[:7] for line in statements] == ["  was: ", "  now: "]
    [found] = json.loads(printed(capsys, "policy", "diff", str(file), "--config", str(config), "--json"))
    assert (found["subject"], found["effect"], found["was"] in before) == ("table t", "weaker", True)
    assert printed(capsys, "policy", "dump", "--config", str(config)) == before


def test_a_mistake_in_a_file_is_told_where_it_stands(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "wrong.sql"
    file.write_text("ALTER TABLE t SET PRIVACY KEY ROW;\nALTER TABLE t SET PRIVACY NONSENSE;\n")
    assert main(["policy", "diff", str(file), "--config", str(config)]) == 2
    assert f"{file}:2:" in capsys.readouterr().err
    [mistake] = json.loads(printed(capsys, "check", str(file), "--json", status=2))
    assert (mistake["file"], mistake["line"]) == (str(file), 2)
    assert printed(capsys, "check", str(config), "--json") == "[]\n"


DOCUMENTS: tuple[tuple[tuple[str, ...], str, object], ...] = (
    (("budget", "show"), "name", "b"),
    (("budget", "reset", "b", "--reason", "x"), "message", None),
    (("ledger", "verify"), "entries", 1),
    (("policy", "dump"), "statement", None),
    (("policy", "apply"), "files", 1),
)


@pytest.mark.parametrize(("words", "name", "value"), DOCUMENTS, ids=str)
def test_programs_read_a_list_of_objects(
    config: Path, words: tuple[str, ...], name: str, value: object, capsys: pytest.CaptureFixture[str]
):
    found = json.loads(printed(capsys, *words, "--config", str(config), "--json"))
    assert found
    assert all(name in row for row in found)
    assert value is None or found[0][name] == value


def test_views_are_a_list_too(config: Path, capsys: pytest.CaptureFixture[str]):
    assert json.loads(printed(capsys, "view", "list", "--config", str(config), "--json")) == []


def test_diff_is_read_beside_a_proxy_that_serves(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.undo()  # each has a process for its data
    with started(config) as engine:
        ask(engine, COUNT)
        assert printed(capsys, "policy", "diff", "--config", str(config)) == "dpproxy: nothing would change\n"


def test_a_file_that_is_missing_is_a_mistake_in_json_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    missing = tmp_path / "missing.sql"
    assert main(["check", str(missing), "--json"]) == 2
    [mistake] = json.loads(capsys.readouterr().out)
    assert mistake["message"] == f"{missing}: No such file or directory"


def judged(config: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """What ``check`` and a start say of the same configuration; the same, or nothing at all."""
    status = main(["check", str(config)])
    told = capsys.readouterr().err
    assert status == (2 if told else 0)
    try:
        with started(config):
            return told, ""
    except StartupError as error:
        return told, f"{error}"


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ("ALTER TABLE t ALTER COLUMN gone SET PRIVACY DOMAIN BETWEEN 0 AND 1;", 'column "gone"'),
        (
            "ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN REFERENCES p (k);\nALTER TABLE p SET PRIVACY PUBLIC;",
            "is not public",
        ),
        ("ALTER TABLE d ALTER COLUMN day SET PRIVACY DOMAIN BETWEEN '1900-01-01' AND '2099-12-31';", ""),
        (
            "ALTER TABLE d ALTER COLUMN day SET PRIVACY DOMAIN BETWEEN '1900-01-01' AND 'tomorrow';",
            "not a date",
        ),
        ("ALTER TABLE d ALTER COLUMN day SET PRIVACY DOMAIN BETWEEN 1 AND 2;", "the constant is a number"),
    ],
)
def test_check_and_a_start_judge_alike(
    tmp_path: Path, policy: str, text: str, capsys: pytest.CaptureFixture[str]
):
    ddl = (
        "CREATE TABLE t AS SELECT i AS x, 'a' AS k FROM range(9) AS r(i)",
        "CREATE TABLE p AS SELECT 'a' AS k",
        "CREATE TABLE d AS SELECT DATE '2020-01-01' AS day",
    )
    told, refused = judged(write_home(tmp_path, ddl, policy), capsys)
    assert text in refused
    assert refused in told if refused else not told


def test_check_says_whose_rows_count_for_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    ddl = (
        "CREATE TABLE people (id INTEGER NOT NULL)",
        "CREATE TABLE visits (id INTEGER)",
    )
    policy = (
        "ALTER TABLE people SET PRIVACY KEY (id); "
        "ALTER TABLE visits SET PRIVACY KEY (id) REFERENCES people (id) MAX ROWS 3;"
    )
    file = write_home(tmp_path, ddl, policy)
    assert main(["check", str(file)]) == 0
    found = capsys.readouterr()
    assert found.err == 'dpproxy: rows of table "visits" whose "id" is NULL count for nobody\n'
    assert found.out == f"dpproxy: {file}: no mistakes found\n"
    assert main(["check", str(file), "--json"]) == 0
    assert capsys.readouterr().out == "[]\n"


def test_check_says_which_budgets_share_their_releases(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    budget = "CREATE PRIVACY BUDGET team LIMIT EPSILON 2 USER LIMIT EPSILON 0.5"
    ddl = ("CREATE TABLE people (id INTEGER NOT NULL)",)
    for more in ("", " SHARE RELEASES"):
        file = write_home(tmp_path / (more or "own"), ddl, f"{budget}{more};")
        assert main(["check", str(file)]) == 0
        assert ('budget "team" shares its releases' in capsys.readouterr().err) is bool(more)


def test_what_cannot_be_answered_or_watched_is_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    bare = POLICY.replace("ALTER TABLE t SET PRIVACY CEILING EPSILON 3;", "")
    assert bare != POLICY
    file = write_home(tmp_path / "bare", DDL, bare)
    told, _ = judged(file, capsys)
    assert 'nothing is answered about table "t": table "t" has no privacy ceiling' in told
    lines: list[str] = []
    with Engine.start(load_config(file), lines.append):
        assert any("has no privacy ceiling" in line for line in lines)
    file = write_home(tmp_path / "watched", DDL, POLICY)
    file.write_text(file.read_text(encoding="utf-8") + "[metrics]\nport = 0\n", encoding="utf-8")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert main(["check", str(file)]) == 2
    assert "metrics.port needs prometheus_client" in capsys.readouterr().err


def test_diff_takes_what_suggest_writes_and_the_wire_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    bounds = "ALTER TABLE d ALTER COLUMN day SET PRIVACY DOMAIN BETWEEN '1900-01-01' AND '2099-12-31'"
    config = write_home(tmp_path, (*DDL, "CREATE TABLE d AS SELECT DATE '2020-01-01' AS day"), POLICY)
    with started(config) as engine:
        ask(engine, bounds, ROOT)
    file = tmp_path / "more.sql"
    file.write_text(f"{bounds};\n", encoding="utf-8")
    assert printed(capsys, "check", str(file)) == f"dpproxy: {file}: no mistakes found\n"
    told = printed(capsys, "policy", "diff", str(file), "--config", str(config))
    assert told == "dpproxy: nothing would change\n"
