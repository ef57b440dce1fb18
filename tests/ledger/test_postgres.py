"""discreet.ledger.postgres: durable, locked at the head, one snapshot a reader, and honest when the network is cut."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from discreet.errors import BudgetExhausted, LedgerError, ParameterError
from discreet.ledger import Ledger, postgres, statements
from discreet.ledger.chain import link
from discreet.ledger.schema import head
from discreet.ledger.transaction import Transaction
from discreet.privacy.event import PureEvent
from discreet.privacy.guarantee import PureDP
from tests.ledger.proxy import Proxy
from tests.services import start

PRICE = PureEvent(epsilon="3/100")


def _opened(url, cap=1) -> Ledger:
    ledger = Ledger.open(url)
    ledger.register(unit="patient", cap=PureDP(cap))
    return ledger


def _spend(ledger, **wanted):
    return ledger.spend(PRICE, unit="patient", tables=["visits"], **wanted)


def _spent(url) -> Fraction:
    with Ledger.open(url, create=False) as ledger:
        return ledger.budget("patient").balance.spent.epsilon


def _raw(url, *commands):
    with psycopg.connect(url, autocommit=True) as connection:
        for command in commands:
            connection.execute(command)


def _until(condition) -> None:
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never happened")


# Locks.


def _waiting(url) -> bool:
    """Whether somebody waits for a lock."""
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()[0] > 0


def _behind_another(url) -> list:
    """What a second ledger is told when its spend has to wait for an entry of the first."""
    first, second, found = _opened(url), Ledger.open(url), []

    def waiter() -> None:
        try:
            found.append(_spend(second).id)
        except LedgerError as error:
            found.append(str(error))

    thread = threading.Thread(target=waiter)
    with first._store.writing() as transaction:
        last = transaction.last()
        thread.start()
        _until(lambda: _waiting(url))
        transaction.append(
            link(last, kind="erasure", time="now", unit="patient", table="visits", version="2", requests=1)
        )
    thread.join(60)
    first.close()
    second.close()
    return found


def test_a_writer_that_waited_sees_what_the_one_before_it_wrote(schema_url):
    assert _behind_another(schema_url) == [3]


def test_the_twin_that_locks_and_reads_in_one_statement_sees_the_past(schema_url, monkeypatch):
    """Under READ COMMITTED the locked row is fresh, and what it is joined with is as old as the statement."""
    locking = statements.LAST.with_for_update(of=head)
    read = Transaction.last

    def last(self):
        monkeypatch.setattr(
            statements, "LAST", plain if self._connection.get_isolation_level() != "READ COMMITTED" else locking
        )
        return read(self)

    plain = statements.LAST
    monkeypatch.setattr(postgres, "lock", lambda connection, *, whole: None)
    monkeypatch.setattr(Transaction, "last", last)

    assert _behind_another(schema_url) == ["the head of the ledger is not its last entry; run verify"]


def test_a_writer_that_waits_too_long_fails_closed_and_may_try_again(schema_url, monkeypatch):
    first, second = _opened(schema_url), Ledger.open(schema_url)
    monkeypatch.setattr(postgres, "PATIENCE", 0.2)
    with first._store.writing(), pytest.raises(LedgerError, match="busy; nothing was spent"):
        _spend(second)

    assert _spend(second).id == 2
    first.close()
    second.close()


def test_a_writer_that_does_nothing_loses_the_lock(schema_url):
    """A process that was stopped while it held the head does not stop everybody for ever, and has spent nothing."""
    stopped, other = _opened(schema_url), Ledger.open(schema_url)

    def hold() -> None:
        with stopped._store.writing() as transaction:
            run = transaction._connection.exec_driver_sql
            assert run("SHOW idle_in_transaction_session_timeout").scalar_one() == f"{postgres.IDLE}s"
            run("SET LOCAL idle_in_transaction_session_timeout = '300ms'")
            assert _spend(other).id == 2  # it waits until the server has ended the idle one
            transaction.last()

    with pytest.raises(LedgerError, match="failed and is closed"):
        hold()
    assert _spent(schema_url) == Fraction(3, 100)
    stopped.close()
    other.close()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # no thread of ours is running
def test_a_ledger_goes_on_in_both_processes_after_a_fork(schema_url):
    ledger = _opened(schema_url)
    _spend(ledger)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for _ in range(5):
                _spend(ledger)
            code = 0
        finally:
            os._exit(code)
    for _ in range(5):
        _spend(ledger)

    assert os.waitpid(child, 0)[1] == 0
    ledger.verify()
    assert ledger.budget("patient").balance.spent.epsilon == 11 * Fraction(3, 100)
    ledger.close()


def test_several_processes_may_create_the_same_ledger_at_once(schema_url):
    program = f"from discreet.ledger import Ledger; print(Ledger.open({schema_url!r}).anchor().hash)"
    running = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    hashes = {process.communicate(timeout=300)[0] for process in running}

    assert [process.returncode for process in running] == [0] * 4
    assert len(hashes) == 1


# Snapshots.


def test_a_reader_has_one_view_while_others_write(schema_url):
    reader, writer = _opened(schema_url), Ledger.open(schema_url)
    with reader._store.reading() as transaction:
        before = transaction.last()
        _spend(writer)

        assert transaction.last() == before
        assert transaction.all_balances()[next(iter(transaction.all_balances()))].spent.epsilon == 0
    assert reader.anchor().id == before.id + 1
    reader.close()
    writer.close()


def test_a_reader_cannot_write(schema_url):
    ledger = _opened(schema_url)

    with pytest.raises(LedgerError, match="ReadOnlySqlTransaction"), ledger._store.reading() as transaction:
        transaction._connection.execute(text("UPDATE head SET id = 7"))
    ledger.close()


# Durability.


@pytest.mark.parametrize(
    ("given", "wanted"), [("off", "on"), ("local", "on"), ("remote_write", "on"), ("remote_apply", "remote_apply")]
)
def test_every_commit_is_synchronous_whatever_the_session_says(schema_url, monkeypatch, given, wanted):
    seen, append = [], Transaction.append

    def spy(self, *arguments, **named):
        seen.append(self._connection.exec_driver_sql("SHOW synchronous_commit").scalar_one())
        append(self, *arguments, **named)

    monkeypatch.setattr(Transaction, "append", spy)
    with _opened(f"{schema_url}%20-csynchronous_commit%3D{given}") as ledger:
        ledger.store(_spend(ledger), b"x")

    assert seen == [wanted] * 3


@pytest.fixture(scope="module")
def careless():
    """A server that does not sync."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-pg-"))
    server = start(folder, {"fsync": "off"})
    yield server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


def test_a_server_that_does_not_sync_is_refused_unless_for_testing(careless):
    url = careless.url("postgres")
    with pytest.raises(LedgerError, match="fsync = off; the ledger would not be durable"):
        Ledger.open(url)
    with Ledger.open(url, testing=True) as ledger:
        ledger.register(unit="patient", cap=PureDP(1))
        _spend(ledger, secure=False)
    with Ledger.open(url) as ledger:  # its first entry says so for ever
        assert ledger.testing
        _spend(ledger)


def test_a_server_that_stops_syncing_is_noticed_before_the_next_spend(schema_url, monkeypatch):
    ledger = _opened(schema_url)
    with monkeypatch.context() as patch:
        patch.setattr(postgres, "_DURABLE", {"full_page_writes": "off"})  # as if the server had the other value
        with pytest.raises(LedgerError, match="full_page_writes = on; the ledger would not be durable"):
            _spend(ledger)

    assert _spend(ledger).id == 2
    ledger.close()


def test_a_database_in_another_encoding_is_refused(postgres_server):
    postgres_server.execute("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")

    with pytest.raises(LedgerError, match="encoded in LATIN1; a ledger needs UTF8"):
        Ledger.open(postgres_server.url("latin"))
    postgres_server.execute("DROP DATABASE latin WITH (FORCE)")


@pytest.mark.parametrize("accident", ["UPDATE entries SET body = ''", "DELETE FROM entries", "TRUNCATE entries"])
def test_entries_cannot_be_changed_by_accident(schema_url, accident):
    _opened(schema_url).close()

    with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        _raw(schema_url, accident)


# A network that fails.


def _through(proxy, url) -> str:
    return url.replace(url.split("@")[1].split("/")[0], f"127.0.0.1:{proxy.port}")


@pytest.fixture
def proxy(postgres_server):
    proxy = Proxy(postgres_server.port)
    yield proxy
    proxy.close()


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_commit_whose_answer_is_lost_is_told_truly_by_its_key(schema_url, proxy, cut):
    """Nobody knows whether it was committed: the ledger closes, and the reopened one knows."""
    ledger = _opened(_through(proxy, schema_url))
    proxy.cut = cut
    with pytest.raises(LedgerError, match="failed and is closed"):
        _spend(ledger, key="k")
    with pytest.raises(LedgerError, match="open it again"):
        _spend(ledger, key="k")
    if cut == "after":
        _until(lambda: _spent(schema_url) > 0)
    with Ledger.open(schema_url) as reopened:
        again = _spend(reopened, key="k")

        assert again.replayed is (cut == "after")
        assert reopened.budget("patient").balance.spent.epsilon == Fraction(3, 100)  # once, either way
        assert reopened.recall("k") is None
    ledger.close()


def test_a_server_that_went_away_between_two_spends_is_found_again(schema_url, proxy):
    ledger = _opened(_through(proxy, schema_url))
    proxy.drop()

    assert _spend(ledger).id == 2
    ledger.close()


def test_a_server_that_cannot_be_reached_has_spent_nothing(schema_url, proxy):
    ledger = _opened(_through(proxy, schema_url))
    proxy.close()

    for _ in range(2):  # it stays open: the server may be back
        with pytest.raises(LedgerError, match="cannot be reached; nothing was spent"):
            _spend(ledger)
    assert _spent(schema_url) == 0
    ledger.close()


def test_a_session_that_was_ended_while_it_wrote_has_spent_nothing(schema_url):
    ledger = _opened(schema_url)

    def write() -> None:
        with ledger._store.writing() as transaction:
            mine = transaction._connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
            _raw(schema_url, f"SELECT pg_terminate_backend({mine})")
            transaction.last()

    with pytest.raises(LedgerError, match="failed and is closed"):
        write()

    assert _spent(schema_url) == 0
    ledger.close()


# Where it is.


def test_the_longest_names_fit_into_the_indexes(schema_url):
    """Two names of 1,200 bytes that do not compress; one more byte is refused before anything is sent."""
    dice = random.Random(1)
    key, analyst, table = ("".join(chr(dice.randrange(0x10000, 0x10FFFF)) for _ in range(300)) for _ in range(3))
    with _opened(schema_url) as ledger:
        ledger.register(unit=key, cap=PureDP(1))
        ledger.spend(PRICE, unit=key, tables=[table], key=key, analyst=analyst)

        with pytest.raises(ParameterError, match="at most 1200 bytes"):
            _spend(ledger, key=key + "x")
        assert _spend(ledger).id == 4


def test_each_schema_has_a_ledger_of_its_own(postgres_server, schema_url):
    postgres_server.execute("CREATE SCHEMA another")
    other = f"{postgres_server.url()}?options=-csearch_path%3Danother"
    with _opened(schema_url) as first, _opened(other) as second:
        _spend(first)

        assert second.budget("patient").balance.spent.epsilon == 0
    postgres_server.execute("DROP SCHEMA another CASCADE")


def test_a_ledger_that_should_be_there_is_not_made_anew(schema_url):
    with pytest.raises(LedgerError, match="there is no ledger in this database"):
        Ledger.open(schema_url, create=False)
    _raw(schema_url, "CREATE TABLE head (slot int)")
    with pytest.raises(LedgerError, match="failed and is closed"):
        Ledger.open(schema_url)


def test_a_role_needs_no_more_than_the_guide_says(postgres_server, schema_url):
    """SELECT and INSERT on entries and answers; UPDATE besides on head and balances."""
    _opened(schema_url).close()
    name = schema_url.rpartition("%3D")[2]
    _raw(
        schema_url,
        "CREATE ROLE teller LOGIN",
        f"GRANT USAGE ON SCHEMA {name} TO teller",
        f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {name} TO teller",
        "GRANT UPDATE ON head, balances TO teller",
    )
    with Ledger.open(schema_url.replace("postgres@", "teller@"), create=False) as ledger:
        ledger.store(_spend(ledger, key="k", analyst="ada"), b"answer")
        ledger.retire("visits", reason="over")
        ledger.verify()

        assert ledger.recall("k", analyst="ada") == b"answer"
    _raw(schema_url, "DROP OWNED BY teller", "DROP ROLE teller")


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_plain_addresses_are_taken(schema_url, scheme):
    with Ledger.open(schema_url.replace("postgresql", scheme, 1)) as ledger:
        assert ledger.anchor().id == 0


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("mysql://root:secret@localhost/test", "not mysql://"),
        ("postgresql+psycopg2:///test", "not postgresql"),
        ("postgresql://user:secret@localhost/test?no_such_option=1", "cannot read the ledger's address"),
        ("postgresql://user:secret@127.0.0.1:1/test", "cannot open the ledger"),
    ],
)
def test_an_address_that_leads_nowhere_is_refused_without_its_password(address, says):
    with pytest.raises(LedgerError, match=says) as refusal:
        Ledger.open(address)

    assert "secret" not in str(refusal.value)


# What someone does who may write to the database.


def _unguarded(url, *commands):
    _raw(url, "ALTER TABLE entries DISABLE TRIGGER USER", *commands)


def test_edits_are_found(schema_url):
    with _opened(schema_url) as ledger:
        ledger.store(_spend(ledger, key="k", analyst="ada"), b"answer")
    edits = [
        "UPDATE entries SET body = replace(body, 'visits', 'visitz') WHERE id = 2",
        "UPDATE entries SET key = 'other' WHERE id = 2",
        "UPDATE entries SET hash = repeat('0', 64) WHERE id = 3",
        "DELETE FROM entries WHERE id = 3",
        "UPDATE balances SET epsilon = '0' WHERE scope = 'unit'",
        "UPDATE balances SET state = 'retired' WHERE scope = 'table'",
        "UPDATE answers SET bytes = 'another'",
        "UPDATE head SET format = 1",
        "DELETE FROM balances",
    ]
    kept = ["entries", "balances", "answers", "head"]
    _raw(schema_url, *(f"CREATE TABLE kept_{name} AS TABLE {name}" for name in kept))
    for edit in edits:
        _unguarded(schema_url, edit)
        with pytest.raises(LedgerError):
            Ledger.open(schema_url).close()
        for name in kept:
            _raw(schema_url, f"DELETE FROM {name}", f"INSERT INTO {name} SELECT * FROM kept_{name}")
    with Ledger.open(schema_url) as ledger:
        assert ledger.recall("k", analyst="ada") == b"answer"


def test_a_ledger_put_back_under_a_running_process_is_noticed(schema_url):
    """What a failover to a server that lags looks like, without an anchor: this process remembers what it saw."""
    ledger = _opened(schema_url)
    _raw(schema_url, "CREATE TABLE old AS TABLE head", "CREATE TABLE olds AS TABLE balances")
    _spend(ledger)
    _unguarded(
        schema_url,
        "DELETE FROM entries WHERE id = 2",
        "UPDATE head SET id = old.id, hash = old.hash FROM old",
        "DELETE FROM balances",
        "INSERT INTO balances SELECT * FROM olds",
    )
    with pytest.raises(LedgerError, match="entry 2 is not the one seen before"):
        _spend(ledger)
    with Ledger.open(schema_url) as fresh:  # without an anchor a new process cannot know
        assert _spend(fresh).id == 2
    with pytest.raises(LedgerError, match="entry 2 is not the one seen before"):
        _spend(ledger)
    ledger.close()


def test_the_cap_ends_on_the_last_grain(schema_url):
    with _opened(schema_url, Fraction("0.09")) as ledger:
        for _ in range(3):
            _spend(ledger)

        with pytest.raises(BudgetExhausted):
            _spend(ledger)
        assert ledger.budget("patient").balance.remaining.epsilon == 0
