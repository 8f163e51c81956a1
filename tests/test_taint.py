"""An exact value reaches a mechanism and nothing else: no constructor can be hidden, so the source is read."""

import ast
from collections.abc import Iterator, Sequence

import pytest

from tests.sources import PRODUCT, name, tree

MAKES_RELEASED = (
    "udfs/privacy.py",
    "udfs/mechanisms/",
    "dpproxy/accounting/",
    "dpproxy/backends/release.py",
    "dpproxy/engine/means.py",
    "dpproxy/engine/replays.py",
)
"""Who may say that a value was paid for."""
KNOWS_EXACT = (
    "udfs/privacy.py",
    "udfs/mechanisms/",
    "dpproxy/backends/",
    "dpproxy/views/make.py",
    "dpproxy/engine/protected.py",
)
"""Who may name the type of an exact value."""
OPENS_EXACT = (
    "udfs/privacy.py",
    "udfs/mechanisms/",
    "dpproxy/backends/release.py",
    "dpproxy/backends/process/worker.py",  # to send it to the process that draws
    "dpproxy/views/make.py",
)
"""Who may read ``.value`` where the type is known."""
KNOWS_ASYNCIO = ("dpproxy/server/", "dpproxy/web/")
BANNED_MODULES = ("random", "numpy.random", "scipy.stats")
"""Sources that are not cryptographic, or that draw from one."""
ASYNC_MODULES = ("asyncio", "anyio", "trio", "uvloop", "selectors")


Nodes = Sequence[ast.AST]
"""Of one file."""


def imports(nodes: Nodes) -> Iterator[str]:
    """Every module or name imported, dotted."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_under(module: str, banned: tuple[str, ...]) -> bool:
    return any(module == one or module.startswith(f"{one}.") for one in banned)


def calls(nodes: Nodes, function: str) -> Iterator[ast.Call]:
    """Calls of a name, plain, dotted or subscripted (``Released[int](...)``)."""
    for node in nodes:
        if isinstance(node, ast.Call):
            target = node.func.value if isinstance(node.func, ast.Subscript) else node.func
            if (isinstance(target, ast.Name) and target.id == function) or (
                isinstance(target, ast.Attribute) and target.attr == function
            ):
                yield node


def faults(path: str, source: ast.AST) -> list[str]:
    """What a file does that only others may; ``path`` from the top."""
    nodes = list(ast.walk(source))
    names = set(imports(nodes))
    found = []
    if not path.startswith(MAKES_RELEASED) and any(calls(nodes, "Released")):
        found.append("makes a Released")
    if not path.startswith(KNOWS_EXACT) and "udfs.privacy.Exact" in names:
        found.append("knows Exact")
    if not path.startswith(OPENS_EXACT) and "udfs.privacy.Exact" in names and "value" in attributes(nodes):
        found.append("opens an Exact")
    if names & {"udfs.privacy.*", "udfs.privacy"} and "udfs.privacy" in set(whole_imports(nodes)):
        found.append("imports udfs.privacy whole, which hides what it uses")
    if not path.startswith(KNOWS_ASYNCIO) and any(is_under(module, ASYNC_MODULES) for module in names):
        found.append("knows asyncio")
    if any(is_under(module, BANNED_MODULES) for module in names) or numpy_random(nodes):
        found.append("uses a source of randomness that is not cryptographic")
    if prints_tracebacks(nodes):
        found.append("logs a traceback, whose message may quote a row")
    return found


def attributes(nodes: Nodes) -> set[str]:
    return {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def whole_imports(nodes: Nodes) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "udfs":
            yield from (f"udfs.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            yield node.module or ""


def from_imports(nodes: Nodes) -> Iterator[str]:
    return (node.module or "" for node in nodes if isinstance(node, ast.ImportFrom))


def numpy_random(nodes: Nodes) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == "random"
        and isinstance(node.value, ast.Name)
        and node.value.id in {"np", "numpy"}
        for node in nodes
    )


def prints_tracebacks(nodes: Nodes) -> bool:
    exc_info = any(
        isinstance(node, ast.keyword)
        and node.arg in {"exc_info", "stack_info"}
        and not (isinstance(node.value, ast.Constant) and node.value.value is False)
        for node in nodes
    )
    logged = any(
        isinstance(call.func, ast.Attribute) and len(call.args) > 0 and isinstance(call.func.value, ast.Name)
        for call in calls(nodes, "exception")
        if "log" in ast.unparse(call.func).lower()
    )
    formatted = any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "traceback"
        and node.attr != "extract_tb"  # places only
        for node in nodes
    )
    return (
        exc_info or logged or formatted or any(is_under(one, ("traceback",)) for one in from_imports(nodes))
    )


def test_files_do_only_what_they_may():
    for path in PRODUCT:
        assert faults(name(path), tree(path)) == [], name(path)


@pytest.mark.parametrize(
    ("path", "source", "fault"),
    [
        ("dpproxy/session/session.py", "x = Released(1, loss)", "makes a Released"),
        ("dpproxy/session/session.py", "x = privacy.Released[int](1, loss)", "makes a Released"),
        ("dpproxy/engine/engine.py", "x = Released(1, loss)", "makes a Released"),
        ("dpproxy/session/session.py", "from udfs.privacy import Exact", "knows Exact"),
        ("dpproxy/engine/answers.py", "from udfs.privacy import Exact", "knows Exact"),
        ("dpproxy/backends/d.py", "from udfs.privacy import Exact\nprint(x.value)", "opens an Exact"),
        ("dpproxy/session/session.py", "from udfs import privacy", "imports udfs.privacy whole"),
        ("dpproxy/session/session.py", "import udfs.privacy as p", "imports udfs.privacy whole"),
        ("dpproxy/session/session.py", "from udfs.privacy import *", "imports udfs.privacy whole"),
        ("dpproxy/engine/engine.py", "from asyncio import Queue", "knows asyncio"),
        ("udfs/pool.py", "import random", "not cryptographic"),
        ("udfs/pool.py", "from numpy import random", "not cryptographic"),
        ("udfs/pool.py", "import numpy as np\nnp.random.rand()", "not cryptographic"),
        ("udfs/pool.py", "from scipy.stats import laplace", "not cryptographic"),
        ("dpproxy/engine/engine.py", "log.exception('no')", "logs a traceback"),
        ("dpproxy/engine/engine.py", "log.error('no', exc_info=True)", "logs a traceback"),
        ("dpproxy/engine/engine.py", "import traceback\ntraceback.format_exc()", "logs a traceback"),
        ("dpproxy/engine/engine.py", "from traceback import format_exc", "logs a traceback"),
    ],
)
def test_a_planted_fault_is_found(path: str, source: str, fault: str):
    assert any(fault in found for found in faults(path, ast.parse(source)))


@pytest.mark.parametrize(
    ("path", "source"),
    [
        (
            "udfs/mechanisms/staircase.py",
            "from udfs.privacy import Exact, Released\nx = Released(e.value, loss)",
        ),
        ("dpproxy/backends/duckdb/source.py", "from udfs.privacy import Exact\nx = Exact(rows)"),
        ("dpproxy/server/listener.py", "import asyncio"),
        ("dpproxy/session/session.py", "from udfs.privacy import Loss\nx = kind.value"),
        ("dpproxy/session/session.py", "future.exception()"),
    ],
)
def test_what_is_allowed_is_not_a_fault(path: str, source: str):
    assert faults(path, ast.parse(source)) == []
