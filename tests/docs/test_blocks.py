"""Every code block of the documentation is run, page by page and from top to bottom."""

import doctest
import os
import re
import shutil
import socket
import tomllib
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import duckdb
import psycopg
import pytest

import udfs
from dpproxy.config.configuration import load_config
from tests.docs.blocks import PAGES, ROOT, Block, blocks, name
from tests.docs.console import PORT, Shell, shell
from tests.docs.world import World, statements, world
from tests.postgres import running

LANGUAGES = {"sql", "console", "sh", "python", "toml", "text"}
MADE = shutil.ignore_patterns("state", "users.toml", "tpch", "out", "__pycache__")
POSTGRES = "@localhost:5432/clinic"
"""The server that pages have their tables in."""
NOTHING_TO_RUN = {"grammar": "statements.md", "drawing": "architecture.md"}
"""Marks of texts that are no example, each with the one page that may have it."""
NOT_RUN = 8
"""Blocks that say why they are not run: fewer are welcome."""


class Page:
    """What the blocks of one page share; made when the first one needs it."""

    def __init__(self, folder: Path, stack: ExitStack, text: str) -> None:
        self._folder, self._stack, self._text = folder, stack, text
        self._world: World | None = None
        self._shell: Shell | None = None
        self._extension: duckdb.DuckDBPyConnection | None = None
        self._scope: dict[str, object] = {}

    def run(self, block: Block) -> list[str]:
        """What goes wrong with a block."""
        if block.reason or block.mark in NOTHING_TO_RUN:
            return []
        if block.file:
            self.shell.write(block)
            return []
        return RUN[block.language](self, block)

    @property
    def world(self) -> World:
        """The documentation's own proxy."""
        if self._world is None:
            self._world = self._stack.enter_context(world(self._folder / "world"))
        return self._world

    @property
    def shell(self) -> Shell:
        """Of sessions; where the page speaks of a PostgreSQL server there is one."""
        if self._shell is None:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            folder = self._folder / "shell"
            shutil.copytree(ROOT / "examples", folder / "examples", ignore=MADE)
            file = folder / "examples" / "dpproxy.toml"
            file.write_text(file.read_text().replace(PORT, str(port)))
            self._shell = self._stack.enter_context(shell(folder, port))
            if POSTGRES in self._text:
                server = self._stack.enter_context(running())
                with psycopg.connect(server.url(), autocommit=True) as connection:
                    connection.execute("CREATE DATABASE clinic")
                url = server.url("clinic")
                self._shell.known[POSTGRES] = f"@{url.partition('@')[2]}"
        return self._shell

    def sql(self, block: Block) -> list[str]:
        """Statements, one after the other."""
        if self._extension is None and block.mark == "duckdb":
            self._extension = self._stack.enter_context(duckdb.connect())
            udfs.register(self._extension)
        if self._extension is None:
            return self.world.run(block)
        for text in statements(block.text):
            self._extension.execute(text).fetchall()
        return []

    def commands(self, block: Block) -> list[str]:
        """Commands beside the documentation's proxy: each has to end well."""
        _ = self.world
        lines = [line.partition(" #")[0] for line in block.text.splitlines()]
        shown = "".join(f"$ {line} >{os.devnull} || echo failed\n" for line in lines if line.strip())
        with shell(self._folder / "world", 0) as here:
            return here.run(Block(block.page, block.line, "console", "", shown))

    def python(self, block: Block) -> list[str]:
        """Code, or a session with its answers; the namespace is the page's."""
        text = block.text if self._shell is None else self._shell.here(block.text)
        if not text.startswith(">>> "):
            exec(compile(text, str(block), "exec"), self._scope)  # our own page
            return []
        told: list[str] = []
        session = doctest.DocTestParser().get_doctest(text, {}, str(block), None, None)
        session.globs = self._scope
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(
            session, out=told.append, clear_globs=False
        )
        return ["".join(told)] if told else []

    def toml(self, block: Block) -> list[str]:
        """A configuration, whole or in part, or users."""
        if block.text.startswith("[users."):
            assert tomllib.loads(block.text)["users"]
            return []
        file = self._folder / "dpproxy.toml"
        for pattern in re.findall(r'"([^"]*)\*\.sql"', block.text):
            (self._folder / pattern).mkdir(parents=True, exist_ok=True)
            (self._folder / pattern / "a.sql").touch()
        file.write_text(completed(block.text), encoding="utf-8")
        load_config(file, {})
        return []


RUN: dict[str, Callable[[Page, Block], list[str]]] = {
    "sql": Page.sql,
    "console": lambda page, block: page.shell.run(block),
    "sh": Page.commands,
    "python": Page.python,
    "toml": Page.toml,
}
SECTIONS = {
    "[server]": '[server]\nlisten = "127.0.0.1:6432"\n',
    "[state]": '[state]\ndirectory = "state"\n',
    "[data.": '[data.main]\npath = "data"\n',
    "[users]": '[users]\nfile = "users.toml"\n',
}


def completed(text: str) -> str:
    """A part of a configuration with the sections that every one has."""
    return text + "\n" + "".join(section for start, section in SECTIONS.items() if start not in text)


@pytest.mark.parametrize("path", [path for path in PAGES if blocks(path)], ids=name)
def test_every_block_of_a_page_runs(path: Path, tmp_path: Path):
    if (
        "psql" in "".join(block.text for block in blocks(path))
        and not shutil.which("psql")
        and not os.environ.get("CI")
    ):
        pytest.skip("psql is not installed")
    with ExitStack() as stack:
        page = Page(tmp_path, stack, path.read_text(encoding="utf-8"))
        wrong = [told for block in blocks(path) for told in page.run(block)]
        assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_every_block_says_what_it_is(path: Path):
    for block in blocks(path):
        assert block.language in LANGUAGES, f"{block}: {block.language or 'no language'}"
        is_told = bool(block.reason) or NOTHING_TO_RUN.get(block.mark) == path.name
        assert block.language != "text" or is_told, f"{block}: text is not run, say why"
        assert not block.mark or is_told or block.file or block.mark == "duckdb", f"{block}: {block.mark}"
    fences = path.read_text(encoding="utf-8").count("\n```")
    assert fences == 2 * len(blocks(path)), "a block is not read: is it indented?"


def test_few_blocks_are_not_run():
    reasons = [f"{block}: {block.reason}" for path in PAGES for block in blocks(path) if block.reason]
    assert len(reasons) <= NOT_RUN, "\n".join(reasons)
