"""The templates of work on her rows: they hold what they say, over the names of any policy."""

from dpproxy.assurance.suite import ATTACKS as ALL
from dpproxy.assurance.target import targets
from dpproxy.assurance.work import ATTACKS
from tests.assurance.made_up import policy, schema


def test_all_of_them_are_timed_and_tried():
    assert all(attack.timed for attack in ATTACKS)
    assert set(ATTACKS) <= set(ALL)


def test_a_table_beside_a_public_one_takes_every_template():
    [stays] = [t for t in targets(policy(), schema(), {}) if t.table == "stays"]
    for attack in ATTACKS:
        assert len(list(stays.statements(attack))) == len(attack.statements)
    texts, patterns = ("".join(stays.statements(attack)) for attack in ATTACKS)
    assert texts.count("upper(lower(") == 5 * 3 * 30
    assert patterns.count("NOT LIKE") == 3 * 30
