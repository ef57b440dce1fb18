"""No refund: what fails after the data was touched stays charged in full, and what fails before costs nothing."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.curator import Curator
from discreet.data.engines.duckdb import DuckDB
from discreet.errors import DiscreetError, DomainError, LedgerError
from discreet.ledger import Account, Ledger
from discreet.mechanisms.laplace import Laplace
from tests.faults.failures import DEATHS, ERRORS, Failing, asked_under
from tests.faults.life import EPSILON, Memory, ask, opened
from tests.faults.processes import run
from tests.scale import counts

EACH = counts(quick=5, full=25)  # of each of eight ways to fail: 200 at full counts


def _charged(target) -> Fraction:
    """How many spends the ledger holds, by its entries and by its balance."""
    with Ledger.open(target, create=False) as ledger:
        spends = sum(entry.record["kind"] == "spend" for entry in ledger.entries())
        spent = ledger.budget("patient").balance.spent.epsilon / Fraction(EPSILON)
    assert spent == spends
    return spent


def _fail(target, how: str, times: int) -> None:
    curator = opened(target, engine=Failing(ERRORS[how]))
    for number in range(times):
        assert asked_under(curator, number) is not None
    curator.ledger.close()


def test_a_failure_after_touch_is_charged_in_full(target, record_property):
    for how in ERRORS:
        _fail(target, how, EACH)
    charged = _charged(target)
    record_property("failures", EACH * len(ERRORS))
    record_property("charged", int(charged))

    assert charged == EACH * len(ERRORS) >= counts(quick=40, full=200)


def test_a_death_after_touch_is_charged_in_full(target, record_property):
    times = counts(quick=2, full=50)
    ended = run("failures", "deaths", target, times)
    record_property("deaths", times * len(DEATHS))

    assert {how: set(map(os.WTERMSIG, statuses)) for how, statuses in ended.items()} == {
        "killed for memory": {signal.SIGKILL},
        "engine crash": {signal.SIGSEGV},
        "abort": {signal.SIGABRT},
        "terminated": {signal.SIGTERM},
    }
    assert _charged(target) == times * len(DEATHS)


@pytest.mark.parametrize("step", ["draw", "store"])
def test_a_failure_after_the_read_is_charged_too(target, step, monkeypatch):
    """Noise that cannot be drawn, an answer that cannot be stored."""

    def broken(*_, **__):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(*((Laplace, "__call__") if step == "draw" else (Ledger, "store")), broken)
    curator = opened(target)
    for number in range(10):
        assert asked_under(curator, number) is not None
    curator.ledger.close()

    assert _charged(target) == 10


def test_a_source_that_vanishes_after_the_spend_is_charged(target, tmp_path, monkeypatch):
    """A real engine, whose file is deleted between the look at its schema and the read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = tmp_path / "visits.parquet"
    pq.write_table(pa.table({"patient": ["a", "b"], "age": pa.array([1, 2], pa.int64())}), source)
    curator = opened(target, engine=DuckDB())
    curator.tables["visits"] = replace(curator.tables["visits"], source=str(source))
    release = Curator._release
    monkeypatch.setattr(Curator, "_release", lambda *given: (source.unlink(), release(*given))[1])
    with pytest.raises(DiscreetError):
        ask(curator, 1)
    curator.ledger.close()

    assert _charged(target) == 1


class Unready(Memory):
    """A source that is not there."""

    def ready(self, table, aggregation):
        raise DomainError("no file none.parquet")


BEFORE = {
    "not SQL": (Memory, "SELEC COUNT(*)", EPSILON),
    "no such table": (Memory, "SELECT COUNT(*) FROM bills", EPSILON),
    "no such column": (Memory, "SELECT COUNT(*) FROM visits WHERE height > 3", EPSILON),
    "not in the language": (Memory, "SELECT RANK() OVER (ORDER BY age) FROM visits", EPSILON),
    "no noise": (Memory, "SELECT age FROM visits", EPSILON),
    "a budget of nothing": (Memory, "SELECT COUNT(*) FROM visits", 0),
    "more than there is": (Memory, "SELECT COUNT(*) FROM visits", 10**9),
    "no source": (Unready, "SELECT COUNT(*) FROM visits", EPSILON),
}


def test_a_failure_before_touch_is_free(target, record_property):
    for engine, text, epsilon in BEFORE.values():
        curator = opened(target, engine=engine())
        for _ in range(EACH):
            with pytest.raises(DiscreetError):
                curator.ask(text, epsilon=epsilon)
        curator.ledger.close()
    charged = _charged(target)
    record_property("failures", EACH * len(BEFORE))
    record_property("charged", int(charged))

    assert EACH * len(BEFORE) >= counts(quick=40, full=200)
    assert charged == 0


def test_an_interrupt_before_the_spend_is_free(target, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    curator = opened(target)
    monkeypatch.setattr(Ledger, "spend", interrupted)
    for number in range(10):
        assert asked_under(curator, number) is KeyboardInterrupt
    curator.ledger.close()

    assert _charged(target) == 0


def test_the_twin_that_refunds_on_an_exception_is_caught(target, monkeypatch):
    """It gives back what the exception cost, and the ledger no longer adds up."""
    account, release = Account("patient", "unit", "patient"), Curator._release

    def refunding(curator, *given):
        try:
            return release(curator, *given)
        except DiscreetError:
            with curator.ledger._store.writing() as transaction:
                balance = transaction.balances("patient", [], None)[account]
                spent = replace(balance.spent, epsilon=balance.spent.epsilon - Fraction(EPSILON))
                transaction.save({account: replace(balance, spent=spent)}, known={account})
            raise

    monkeypatch.setattr(Curator, "_release", refunding)
    _fail(target, "engine error", 3)

    with pytest.raises(LedgerError, match="balances are not the sums"):
        _charged(target)
