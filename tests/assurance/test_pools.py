"""Attack: tell from outside what a budget has released that shares its releases with its own users.

Two proxies over the same rows: in one the users of the budget ``lab`` have asked what the attacker asks, in the other
something else of the same price. Eve, whom another budget pays for, compares everything she is sent by both, and what
the store reads for her, by which she could be answered sooner or later.
"""

from collections.abc import Callable, Iterator, Sequence

import pytest

from dpproxy.accounting.releases import ReleaseStore
from tests.assurance.raw import Raw
from tests.proxies import Proxy, serving, write_home

DDL = [
    "CREATE TABLE people (id INTEGER PRIMARY KEY, sex VARCHAR NOT NULL, age INTEGER NOT NULL)",
    "INSERT INTO people SELECT i, CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END, i % 100 FROM range(400) AS r(i)",
]
POLICY = """
ALTER TABLE people SET PRIVACY KEY (id);
ALTER TABLE people SET PRIVACY CEILING EPSILON 100;
ALTER TABLE people ALTER COLUMN id SET PRIVACY DOMAIN BETWEEN 0 AND 1000;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm');
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 99;
CREATE PRIVACY BUDGET lab LIMIT EPSILON 50 DEFAULT EPSILON 0.5 SHARE RELEASES;
CREATE PRIVACY BUDGET other LIMIT EPSILON 50 DEFAULT EPSILON 0.5;
GRANT SELECT ON people TO researcher WITH PRIVACY BUDGET lab;
GRANT SELECT ON people TO stranger WITH PRIVACY BUDGET other;
"""
Origins = int | Sequence[int]
USERS = {"ann": ["researcher"], "bob": ["researcher"], "eve": ["stranger"]}
ASKED = "SELECT sex, count(*) FROM people GROUP BY sex"
INSIDE = {"the same": ASKED, "another": "SELECT sex, count(*) FROM people WHERE age > 3 GROUP BY sex"}
SHARED = 2
"""The entries of the ledger before Eve comes: a charge to ann, and that bob read what was released."""
TRIED = (
    f"EXPLAIN (PRIVACY) {ASKED}",
    f"EXPLAIN (PRIVACY) ({ASKED}; SELECT count(*) FROM people WHERE sex = 'f')",
    "EXPLAIN (PRIVACY) SELECT count(*) FROM people WHERE sex = 'f'",
    "SET dp.budget = 'lab'",
    ASKED,
    "SET dp.budget = 'other'",
    ASKED,
    "SELECT count(*) FROM people WHERE sex = 'f'",
    "SELECT count(*) FROM people WHERE age > 3 AND sex IN ('f', 'm')",
    "SELECT kind, what, epsilon, budget FROM dp.ledger",
    "SELECT * FROM dp.budgets",
    "SHOW PRIVACY BUDGETS",
)


@pytest.fixture(scope="module")
def proxies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Proxy]]:
    made = [write_home(tmp_path_factory.mktemp("shared"), DDL, POLICY, users=USERS) for _ in INSIDE]
    with serving(made[0]) as one, serving(made[1]) as two:
        yield dict(zip(INSIDE, (one, two), strict=True))


def told(proxy: Proxy) -> list[tuple[str, str, bytes]]:
    """All messages to Eve; of rows that were drawn, that there are so many."""
    with Raw(proxy, "eve") as connection:
        found = [(sql, m) for sql in TRIED for m in connection.query(sql)]
    return [(sql, m.kind, b"" if m.kind == "D" and "FROM people" in sql[:40] else m.body) for sql, m in found]


def test_what_others_share_is_not_told_and_not_looked_at(
    proxies: dict[str, Proxy], monkeypatch: pytest.MonkeyPatch
):
    for name, sql in INSIDE.items():
        for user in ("ann", "bob"):
            with Raw(proxies[name], user) as connection:
                assert [m.kind for m in connection.query(sql)].count("D") == 2
    looked_at = set[int]()

    def noting(
        original: Callable[[ReleaseStore, Origins], object],
    ) -> Callable[[ReleaseStore, Origins], object]:
        def noted(store: ReleaseStore, origins: Origins) -> object:
            looked_at.update([origins] if isinstance(origins, int) else origins)
            return original(store, origins)

        return noted

    for name in ("load", "_payload", "_payers"):
        monkeypatch.setattr(ReleaseStore, name, noting(getattr(ReleaseStore, name)))
    one, two = (told(proxy) for proxy in proxies.values())
    assert one == two
    assert any(kind == "D" and "epsilon 0.5" in str(body) for _, kind, body in one)
    assert min(looked_at) > SHARED
