import hashlib
import hmac

import pytest
from msgspec.structs import fields, replace

from dpproxy.accounting.chain import Seals
from dpproxy.accounting.model import Account, LedgerEntry, Posting

SEALS = Seals(b"k" * 32)
POSTING = Posting(Account.user("b", "u"), 5, 3)
ENTRY = LedgerEntry(
    *(1, "charge", 7, "ann", b"s" * 32, 1, 1, "staircase", 3, "0", "0", b"r" * 32, 1, "count", "", (POSTING,))
)


def altered(value: object) -> object:
    match value:
        case int():
            return value + 1
        case bytes():
            return value + b"x"
        case str():
            return value + "x"
        case tuple():
            return ()
        case Account():
            return Account.budget("b")


def test_what_is_authenticated_of_an_entry_never_changes():
    """Ledgers that exist verify by these bytes: fields in another order, or one more, would refuse them all."""
    entry = LedgerEntry(
        *(
            1,
            "charge",
            7,
            "ann",
            b"s" * 32,
            2,
            3,
            "staircase",
            4,
            "1/5",
            "1/6",
            b"r" * 32,
            8,
            "count",
            "note",
            (POSTING,),
        )
    )
    found = hashlib.sha256(entry.canonical()).hexdigest()
    assert found == "e4a28f86c33e20408fb39e020d3e6a4ebb19d767ede0b80aa2ff832cf25a6b2d"


@pytest.mark.parametrize("name", [field.name for field in fields(LedgerEntry)])
def test_every_field_of_an_entry_is_authenticated(name: str):
    other = replace(ENTRY, **{name: altered(getattr(ENTRY, name))})
    assert SEALS.entry(b"", other) != SEALS.entry(b"", ENTRY)


@pytest.mark.parametrize("name", [field.name for field in fields(Posting)])
def test_every_field_of_a_posting_is_authenticated(name: str):
    other = replace(ENTRY, postings=(replace(POSTING, **{name: altered(getattr(POSTING, name))}),))
    assert SEALS.entry(b"", other) != SEALS.entry(b"", ENTRY)


def test_the_previous_mac_and_the_key_matter():
    assert SEALS.entry(b"a" * 32, ENTRY) != SEALS.entry(b"b" * 32, ENTRY)
    assert Seals(b"other").entry(b"a" * 32, ENTRY) != SEALS.entry(b"a" * 32, ENTRY)


@pytest.mark.parametrize("name", ["format", "ledger", "sequence", "at", "mac"])
def test_every_field_of_the_head_is_sealed(name: str):
    head = SEALS.genesis(b"l" * 16, 1)
    assert SEALS.head(replace(head, **{name: altered(getattr(head, name))})) != SEALS.head(head)


def test_a_release_is_bound_to_its_charge_key_and_loss():
    good = (1, b"key", 5, b"payload")
    for place, value in enumerate(good):
        changed = (*good[:place], altered(value), *good[place + 1 :])
        assert SEALS.release(*changed) != SEALS.release(*good)


@pytest.mark.parametrize("length", [0, 1, 32, 63, 64, 65, 200])
def test_the_mac_is_hmac_sha256(length: int):
    for key in (bytes(length), bytes(range(length))):
        for message in (b"", b"m", bytes(range(256)) * 20):
            assert Seals(key).mac(message) == hmac.digest(key, message, "sha256")


def test_the_key_is_not_shown():
    assert "kkkk" not in repr(SEALS)
