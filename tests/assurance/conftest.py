from collections.abc import Iterator

import pytest

from tests.assurance.people import write_twin
from tests.assurance.twin import Twin
from tests.proxies import Proxy, serving


@pytest.fixture(scope="session")
def proxies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, Proxy]]:
    """Without her, and with her."""
    folder = tmp_path_factory.mktemp("twin")
    with (
        serving(write_twin(folder / "without", with_her=False)) as left,
        serving(write_twin(folder / "with", with_her=True)) as right,
    ):
        yield left, right


@pytest.fixture
def twin(proxies: tuple[Proxy, Proxy]) -> Iterator[Twin]:
    with Twin(*proxies) as found:
        yield found


@pytest.fixture(scope="session")
def loud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, Proxy]]:
    """The same at epsilon 1,000,000, where noise other than 0 is never seen."""
    folder = tmp_path_factory.mktemp("loud")
    amounts = {"ceiling": 10**9, "limit": 10**9, "most": 10**6, "default": 10**6}
    with (
        serving(write_twin(folder / "without", with_her=False, **amounts)) as left,
        serving(write_twin(folder / "with", with_her=True, **amounts)) as right,
    ):
        yield left, right
