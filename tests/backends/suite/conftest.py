import pytest

from tests.backends.suite.engines import ENGINES, MISSING, Engine


@pytest.fixture(params=ENGINES, ids=lambda e: e.name, scope="module")
def engine(request: pytest.FixtureRequest) -> Engine:
    return request.param


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        call = getattr(item, "callspec", None)
        if call is None or not isinstance(call.params.get("engine"), Engine):
            continue
        name = call.params["engine"].name
        if name in {"spark", "sail"}:
            item.add_marker("spark")
        reason = MISSING.get((name, item.name.partition("[")[0])) or MISSING.get(
            (name, call.params.get("text"))
        )
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
