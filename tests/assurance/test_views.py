"""Attack: a view rebuilt again and again over data that differ by one person, through the statements.

Each REFRESH is one sample: the number of released rows, and the sum of their values. The lower bound of ``udfs.audit``
must stay below the build's epsilon. False alarm: 1 in 1,000. Power: a method that adds no noise at all is found by the
same number of samples, and is tried beside.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from dpproxy.anonymize.methods import METHODS
from tests.hospital import ANN, DDL, Plain, ask, home
from tests.proxies import started
from udfs.audit import audit

SAMPLES = 40
EPSILON = 0.1
PEOPLE = 12
MORE = """
ALTER TABLE patients SET PRIVACY CEILING EPSILON 1000;
CREATE PROTECTED VIEW v WITH (method = {method}, epsilon = 0.1) AS SELECT age FROM patients;
GRANT SELECT ON v TO analyst;
"""


def samples(folder: Path, method: str, people: int) -> Sequence[tuple[float, float]]:
    ddl = (*DDL, f"DELETE FROM patients WHERE id >= {people}")
    found = []
    with started(home(folder, MORE.format(method=method), ddl)) as engine:
        for _ in range(SAMPLES):
            ask(engine, "REFRESH PROTECTED VIEW v")
            [[rows, total]] = ask(engine, "SELECT count(*), sum(age) FROM v", ANN).rows
            found.append((float(str(rows)), float(str(total or 0))))
    return found


@pytest.mark.statistical
@pytest.mark.parametrize(("method", "keeps"), [("dp_kdtree", True), ("plain", False)])
def test_a_rebuilt_view_tells_no_more_about_one_person_than_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, method: str, keeps: bool
):
    monkeypatch.setitem(METHODS, "plain", Plain())
    left = samples(tmp_path / "left", method, PEOPLE)
    right = samples(tmp_path / "right", method, PEOPLE + 1)
    bound = max(finding.bound for finding in audit(left, right))
    assert (bound <= EPSILON) is keeps
