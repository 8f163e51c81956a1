"""The commands of policies: check, dump, diff, apply. None but ``apply`` changes anything, or opens the data."""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from dpproxy.arguments import Arguments
from dpproxy.config import Config, check_files, load_config
from dpproxy.config_text import ConfigError
from dpproxy.console import put, say, tell
from dpproxy.display import as_json, counted
from dpproxy.errors import StartupError
from dpproxy.policy.difference import differences, told
from dpproxy.policy.dump import dump as statements_of
from dpproxy.policy.files import PolicyFileError, apply_file, read_file
from dpproxy.policy.model import Policy
from dpproxy.policy.store import PolicyStore
from dpproxy.state import require
from dpproxy.tls import server_context
from dpproxy.users import read_users


def check(arguments: Arguments) -> int:
    """A policy without the tables it names, or a configuration with all that it names."""
    file: Path = arguments.file
    try:
        if file.suffix == ".toml":
            _check_config(load_config(file))
        else:
            _applied(Policy(), (file,))
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
    put("[]" if arguments.json else f"dpproxy: {file}: no mistakes found")
    return 0


def _check_config(config: Config) -> None:
    check_files(config)
    read_users(config.users)
    if config.tls_certificate is not None:
        server_context(config.tls_certificate, config.tls_key)
    for data in config.sources.values():
        _applied(Policy(), data.policy_files)


def _mistaken(arguments: Arguments, told: str, excerpt: str, mistake: Mapping[str, object]) -> int:
    if arguments.json:
        put(json.dumps([mistake]))
    else:
        tell(f"{told}\n{excerpt}" if excerpt else told)
    return 2


def _applied(policy: Policy, files: Sequence[Path]) -> Policy:
    for file in files:
        policy = apply_file(policy, read_file(file), None)
    return policy


def _in_force(config: Config) -> Policy:
    require(config)
    with closing(PolicyStore.open(config.state)) as store:
        return store.current


def dump(arguments: Arguments) -> int:
    """``dpproxy policy dump``."""
    statements = statements_of(_in_force(load_config(arguments.config).of(arguments.database)))
    if arguments.json:
        put(as_json(["statement"], [(statement,) for statement in statements]))
    else:
        put("".join(f"{statement};\n" for statement in statements).rstrip("\n"))
    return 0


def diff(arguments: Arguments) -> int:
    """The policy in force beside what it would be once the files are applied to it."""
    config = load_config(arguments.config).of(arguments.database)
    before = _in_force(config)
    found = differences(before, _applied(before, arguments.file or config.policy_files))
    if arguments.json:
        rows = [(d.subject, d.was, d.now, d.effect.value, d.meaning) for d in found]
        put(as_json(["subject", "was", "now", "effect", "meaning"], rows))
    else:
        put("\n".join(told(found)) if found else "dpproxy: nothing would change")
    return 0


def apply(arguments: Arguments) -> int:
    """``dpproxy policy apply``."""
    from dpproxy.engine import Engine  # noqa: PLC0415 - slow to import

    config = load_config(arguments.config).of(arguments.database)
    check_files(config)
    with Engine.start(config, tell) as engine:
        version, files = engine.policy.version, len(config.policy_files)
    if arguments.json:
        put(as_json(["policy_version", "files"], [(version, files)]))
    else:
        say(f"policy version {version}, {counted(files, 'file', 'files')} applied")
    return 0
