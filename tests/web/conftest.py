"""A page that the tests of a module share."""

from collections.abc import Iterator

import pytest

from tests.web.pages import Site, site


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("page")) as found:
        yield found
