"""The commands of policies: check, dump, diff, apply. None but ``apply`` changes anything."""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from dpproxy.cli import page
from dpproxy.config.configuration import Config, check_files, load_config
from dpproxy.config.text import ConfigError
from dpproxy.config.tls import server_context
from dpproxy.config.users import read_users
from dpproxy.engine.recording import watching
from dpproxy.planner.views import read_views
from dpproxy.policy.difference import differences, explanation
from dpproxy.policy.draft import marks
from dpproxy.policy.dump import dump as statements_of
from dpproxy.policy.files import PolicyFileError, apply_file, read_file
from dpproxy.policy.model import Policy
from dpproxy.policy.store import PolicyStore
from dpproxy.policy.units import shared, unanswerable, without_people
from dpproxy.state.directory import require
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import print_result, say, tell
from dpproxy.terminal.display import as_json, quantity
from dpproxy.values.errors import StartupError
from dpproxy.values.pgtypes import Schema


def check(arguments: Arguments) -> int:
    """``dpproxy check``: check a policy file without its tables, or a configuration with everything that it names."""
    file: Path = arguments.file
    try:
        if file.suffix == ".toml":
            for line in _check_config(load_config(file)):
                tell(line)
        else:
            _applied(Policy(), (file,), None)
    except ConfigError as error:
        excerpt = ""
        if error.line is not None and error.column is not None:
            text = file.read_text(encoding="utf-8").splitlines()
            line = text[error.line - 1] if error.line <= len(text) else ""
            excerpt = f"{line}\n{' ' * (error.column - 1)}^"
        mistake = {"file": str(file), "line": error.line, "column": error.column, "message": error.problem}
        return _mistaken(arguments, str(error), excerpt, mistake)
    except PolicyFileError as error:
        place = {"line": error.place.line, "column": error.place.column}
        mistake = {"file": str(error.path), **place, "message": error.message, "hint": error.hint}
        return _mistaken(arguments, str(error), error.excerpt, mistake)
    except StartupError as error:
        mistake = {"file": str(file), "line": None, "column": None, "message": str(error)}
        return _mistaken(arguments, str(error), "", mistake)
    print_result("[]" if arguments.json else f"dpproxy: {file}: no mistakes found")
    return 0


def _check_config(config: Config) -> list[str]:
    """What is no mistake and worth knowing."""
    check_files(config)
    read_users(config.users)
    if config.tls_certificate is not None:
        server_context(config.tls_certificate, config.tls_key)
    watching(config)
    page.require(config)
    found = list(_open_marks(config))
    for name in config.sources:
        source = config.of(name)
        schema = schema_of(source)
        policy = _applied(Policy(), source.policy_files, schema)
        if lines := unanswerable(policy):
            raise StartupError(lines[0])
        found += [*without_people(policy, schema), *shared(policy)]
    return found


def _open_marks(config: Config) -> Iterator[str]:
    files = dict.fromkeys(file for name in config.sources for file in config.of(name).policy_files)
    for file in files:
        if count := marks(read_file(file).text):
            yield f"{file}: {quantity(count, 'place', 'places')} to fill in or to confirm: /* fill in */, /* confirm */"


def schema_of(config: Config) -> Schema:
    """The schema of a data source, as a start would read it; temporary files are removed afterwards."""
    from dpproxy.backends.opening import open_source  # noqa: PLC0415 - slow to import

    data = replace(config.data, prepared_schema=None)
    with TemporaryDirectory(prefix="dpproxy-") as folder:
        looked = replace(config, root=Path(folder), sources={config.database: data})
        looked.state.mkdir(mode=0o700)
        backend = open_source(looked, secrets.token_bytes(32), lambda _line: None).backend
        try:
            return read_views(backend.schema())
        finally:
            backend.close()


def _mistaken(arguments: Arguments, message: str, excerpt: str, mistake: Mapping[str, object]) -> int:
    if arguments.json:
        print_result(json.dumps([mistake]))
    else:
        tell(f"{message}\n{excerpt}" if excerpt else message)
    return 2


def _applied(policy: Policy, files: Sequence[Path], schema: Schema | None) -> Policy:
    for file in files:
        policy = apply_file(policy, read_file(file), schema)
    return policy


def _in_force(config: Config) -> Policy:
    require(config)
    with closing(PolicyStore.open(config.state)) as store:
        return store.current


def dump(arguments: Arguments) -> int:
    """``dpproxy policy dump``."""
    statements = statements_of(_in_force(load_config(arguments.config).of(arguments.database)))
    if arguments.json:
        print_result(as_json(["statement"], [(statement,) for statement in statements]))
    else:
        print_result("".join(f"{statement};\n" for statement in statements).rstrip("\n"))
    return 0


def diff(arguments: Arguments) -> int:
    """``dpproxy policy diff``: compare the policy in force with that after applying policy files."""
    config = load_config(arguments.config).of(arguments.database)
    before = _in_force(config)
    after = _applied(before, arguments.file or config.policy_files, schema_of(config))
    found = differences(before, after)
    if arguments.json:
        rows = [(d.subject, d.was, d.now, d.effect.value, d.meaning) for d in found]
        print_result(as_json(["subject", "was", "now", "effect", "meaning"], rows))
    else:
        print_result("\n".join(explanation(found)) if found else "dpproxy: nothing would change")
    return 0


def apply(arguments: Arguments) -> int:
    """``dpproxy policy apply``."""
    from dpproxy.engine.engine import Engine  # noqa: PLC0415 - slow to import

    config = load_config(arguments.config).of(arguments.database)
    check_files(config)
    with Engine.start(config.weakening(), tell) as engine:
        version, files = engine.policy.version, len(config.policy_files)
    if arguments.json:
        print_result(as_json(["policy_version", "files"], [(version, files)]))
    else:
        say(f"policy version {version}, {quantity(files, 'file', 'files')} applied")
    return 0
