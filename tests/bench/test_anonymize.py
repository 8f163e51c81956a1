"""The section runs; no time is asserted."""

from tests.bench import anonymize
from tests.bench.report import markdown


def test_every_method_is_built() -> None:
    measured = list(anonymize.measure(small=True))
    assert len(measured) == len(anonymize.WORKS)
    assert all(line.seconds > 0 for line in measured)
    assert [line.plain is None for line in measured] == [work.plain is None for work in anonymize.WORKS]
    assert len(markdown(anonymize.rows(measured)).splitlines()) == len(measured) + 2
    assert len(anonymize.as_json(measured)) == len(measured)


def test_what_takes_too_long_is_missed() -> None:
    line = anonymize.Measured("x", 3.0, None, 2.0)
    assert not line.met
    assert anonymize.rows([line])[1] == ["x", "3.00 s", "", "<= 2 s, missed"]
