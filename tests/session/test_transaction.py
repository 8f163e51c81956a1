import pytest

from dpproxy.config.settings import DEFAULTS
from dpproxy.session.transaction import MOST_SAVEPOINTS, Status, Transaction
from dpproxy.values.errors import FixedSetting, InvalidParameter, NoTransaction, TooComplex, UnknownSavepoint

NAME = "application_name"


def test_commit_keeps_what_set_did_but_not_set_local():
    tx = Transaction(DEFAULTS)
    tx.begin()
    tx.set(NAME, "kept")
    tx.set(NAME, "local", local=True)
    assert tx.settings[NAME] == "local"
    tx.commit()
    assert tx.settings[NAME] == "kept"
    tx.begin()
    tx.rollback()
    assert tx.settings[NAME] == "kept"
    assert tx.status is Status.IDLE


def test_rollback_undoes_what_set_did():
    tx = Transaction(DEFAULTS)
    tx.begin()
    tx.set(NAME, "x")
    tx.rollback()
    assert tx.settings == DEFAULTS


def test_a_refusal_outside_a_block_undoes_the_message_and_inside_fails_the_block():
    tx = Transaction(DEFAULTS)
    tx.set(NAME, "x")
    tx.fail()
    assert (tx.settings[NAME], tx.status) == ("", Status.IDLE)
    tx.begin()
    tx.set(NAME, "x")
    tx.fail()
    assert (tx.settings[NAME], tx.status) == ("x", Status.FAILED)
    tx.rollback()
    assert tx.settings[NAME] == ""


def test_savepoints_nest_and_the_newest_of_a_name_counts():
    tx = Transaction(DEFAULTS)
    tx.begin()
    tx.save("a", -1)
    tx.set(NAME, "1")
    tx.save("a", -1)
    tx.set(NAME, "2")
    tx.fail()
    tx.rollback_to("a")
    assert (tx.settings[NAME], tx.status) == ("1", Status.BLOCK)
    tx.rollback_to("a")
    assert tx.settings[NAME] == "1"
    tx.release("a")
    tx.rollback_to("a")
    assert tx.settings[NAME] == ""
    tx.release("a")
    with pytest.raises(UnknownSavepoint):
        tx.release("a")


def test_what_can_only_be_lowered_survives_rollback_and_reset():
    tx = Transaction(DEFAULTS)
    tx.begin()
    tx.save("a", -1)
    tx.set("dp.session_epsilon", "0.5")
    tx.rollback_to("a")
    tx.rollback()
    assert tx.settings["dp.session_epsilon"] == "0.5"
    tx.reset_all()
    tx.commit()
    assert tx.settings["dp.session_epsilon"] == "0.5"
    with pytest.raises(InvalidParameter):
        tx.reset("dp.session_epsilon")
    tx.begin()
    tx.set("dp.session_epsilon", "0.4", local=True)
    tx.commit()
    assert tx.settings["dp.session_epsilon"] == "0.4"


def test_reset_returns_to_the_start_of_the_session():
    tx = Transaction({**DEFAULTS, NAME: "start"})
    tx.set(NAME, "x")
    tx.reset(NAME)
    assert tx.settings[NAME] == "start"
    tx.set("timezone", "Europe/Madrid")
    tx.reset_all()
    assert tx.settings["timezone"] == "UTC"
    with pytest.raises(FixedSetting):
        tx.reset("server_version")


def test_a_block_starts_with_the_defaults_given_for_it():
    tx = Transaction(DEFAULTS)
    tx.set("default_transaction_isolation", "serializable")
    tx.commit()
    assert tx.settings["transaction_isolation"] == "serializable"
    tx.begin()
    tx.set("transaction_isolation", "read committed", local=True)
    tx.commit()
    assert tx.settings["transaction_isolation"] == "serializable"


def test_a_copy_is_on_its_own():
    tx = Transaction(DEFAULTS)
    tx.begin()
    twin = tx.copy()
    twin.set(NAME, "x")
    twin.save("a", -1)
    twin.rollback()
    assert (tx.status, tx.settings[NAME]) == (Status.BLOCK, "")
    with pytest.raises(UnknownSavepoint):
        tx.release("a")


def test_savepoints_are_counted_and_their_names_are_as_long_as_postgres_has_them():
    tx = Transaction(DEFAULTS)
    tx.begin()
    for number in range(MOST_SAVEPOINTS):
        tx.save(f"s{number}", -1)
    with pytest.raises(TooComplex, match="savepoints"):
        tx.save("one more", -1)
    tx.release("s1")
    tx.save("x" * 10**6, -1)
    assert max(len(held.name) for held in tx._savepoints) == 63
    tx.rollback_to("x" * 63)
    tx.release("x" * 64)
    with pytest.raises(UnknownSavepoint):
        tx.release("x" * 63)


def test_the_present_is_when_the_transaction_began():
    transaction = Transaction(DEFAULTS)
    transaction.arrive()
    began, _ = transaction.present().split()
    transaction.begin()
    transaction.arrive()
    now, arrived = transaction.present().split()
    assert now == began < arrived
    transaction.commit()
    transaction.arrive()
    now, arrived = transaction.present().split()
    assert now == arrived > began


def test_a_statement_behind_a_commit_begins_the_next_transaction():
    transaction = Transaction(DEFAULTS)
    transaction.arrive()
    transaction.begin()
    transaction.arrive()
    transaction.commit()
    now, arrived = transaction.present().split()
    assert now == arrived


SHARED = {**DEFAULTS, "dp.session_settings": "transaction"}


def test_nothing_of_ours_outlives_its_transaction_on_a_shared_connection():
    tx = Transaction(SHARED)
    for change in (lambda: tx.set("dp.epsilon", "0.9"), lambda: tx.reset("dp.epsilon")):
        with pytest.raises(NoTransaction, match="whoever has this connection next"):
            change()
    tx.begin()
    tx.set("dp.epsilon", "0.9")
    tx.set(NAME, "kept")
    assert tx.settings["dp.epsilon"] == "0.9"
    tx.commit()
    assert (tx.settings["dp.epsilon"], tx.settings[NAME]) == ("", "kept")
    tx.several = True  # a message of several statements is a transaction
    tx.set("dp.epsilon", "0.9")
    tx.commit()
    assert tx.settings["dp.epsilon"] == ""


def test_a_shared_connection_has_no_limit_of_one_client():
    tx = Transaction(SHARED)
    tx.begin()
    with pytest.raises(InvalidParameter, match="shared"):
        tx.set("dp.session_epsilon", "0.001")


def test_a_connection_stays_shared():
    tx = Transaction(DEFAULTS)
    tx.set("dp.epsilon", "0.5")
    tx.set("dp.session_settings", "transaction")  # the connect_query of a pooler
    tx.commit()
    for back in (lambda: tx.set("dp.session_settings", "session"),):
        with pytest.raises(InvalidParameter, match="stays"):
            back()
    tx.begin()
    with pytest.raises(InvalidParameter):
        tx.set("dp.session_settings", "session", local=True)
    tx.reset("dp.session_settings")
    tx.rollback()
    tx.reset_all()
    assert tx.settings["dp.session_settings"] == "transaction"
    assert tx.settings["dp.epsilon"] == ""
