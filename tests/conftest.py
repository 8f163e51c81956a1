import os

import pytest
from hypothesis import HealthCheck, settings

# The machine may be busy, and the time of one example proves nothing.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--accept", action="store_true", help="rewrite the plans and exact answers of tests/golden"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--accept") and os.environ.get("CI"):
        raise pytest.UsageError("--accept is for people: golden files are reviewed as code")
