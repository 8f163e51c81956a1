"""Collects ``*.test`` files beside this one: each record is a test. What a file looks like: ``records.py``."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden.kinds import RUN, Different
from tests.golden.records import ACCEPTED, Record, read, rewrite
from tests.golden.world import World, build


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    return GoldenFile.from_parent(parent, path=file_path) if file_path.suffix == ".test" else None


class GoldenFile(pytest.File):
    """One golden file; its tables are built once."""

    _world: World | None = None

    def collect(self) -> Iterator[pytest.Item]:
        self.golden = read(self.path)
        assert self.golden.records, f"{self.path.name} has no record"
        for record in self.golden.records:
            name = f"{record.line}-{record.kind}"
            yield GoldenItem.from_parent(self, name=name, record=record)

    def world(self) -> World:
        if self._world is None:
            self._world = build(self.golden.header)
        return self._world


class GoldenItem(pytest.Item):
    """One record."""

    def __init__(self, *, record: Record, **rest: object) -> None:
        super().__init__(**rest)  # type: ignore[arg-type]
        self.record = record

    def runtest(self) -> None:
        assert isinstance(self.parent, GoldenFile)
        try:
            RUN[self.record.kind](self.parent.world(), self.record)
        except Different as difference:
            if not (self.config.getoption("--accept") and self.record.kind in ACCEPTED):
                raise
            rewrite(self.path, self.record, difference.actual)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: None = None) -> str:  # noqa: ARG002
        where = f"{self.path}:{self.record.line}"
        if isinstance(excinfo.value, Different | AssertionError):
            return f"{where}\n{self.record.statement}\n{excinfo.value}"
        return f"{where}\n{self.record.statement}\n{excinfo.exconly()} at {excinfo.traceback[-1]}"

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.record.line - 1, f"{self.path.stem}:{self.name}"
