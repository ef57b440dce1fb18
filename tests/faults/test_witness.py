"""The witness: restored and forked ledgers are refused, free; what was charged and not read is drawn later."""

from __future__ import annotations

import json
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from functools import partial
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import BudgetExhausted, LedgerError
from discreet.learning import NaiveBayes
from discreet.ledger import Ledger, Witness
from discreet.ledger.watch import Unmoved, Watch
from discreet.ledger.witness import State
from discreet.ledger.witness_file import FileWitness
from discreet.ledger.witness_postgres import PostgresWitness
from discreet.privacy.guarantee import PureDP
from discreet.synthesis.adaptive import Adaptive
from tests.faults import life, witnessed
from tests.faults.processes import Child, run

PRICE = PureDP("1/100")
QUARTER = Fraction(1, 4)
COUNT = "SELECT COUNT(*) AS n FROM visits"


class InMemory:
    """An object with a version, whose reads and writes fail as they are told to."""

    def __init__(self) -> None:
        self.held: tuple[str | None, str | None] = None, None
        self.unreachable = self.unwritable = self.writes_and_fails = False
        self.moves = 0

    def read(self) -> tuple[str | None, str | None]:
        if self.unreachable:
            raise ConnectionError("no route to host")
        return self.held

    def compare_and_set(self, expected: str | None, text: str) -> bool:
        if self.unwritable:
            raise OSError(28, "No space left on device")
        if expected != self.held[0]:
            return False
        self.held, self.moves = (str(int(expected or 0) + 1), text), self.moves + 1
        if self.writes_and_fails:
            raise TimeoutError("the reply was lost")
        return True


@pytest.fixture(params=["file", "postgresql", "object"])
def witness(request, tmp_path):
    """One of each kind, empty; as it would be named again after a restart."""
    match request.param:
        case "file":
            (tmp_path / "elsewhere").mkdir()
            return str(tmp_path / "elsewhere" / "witness.json")
        case "postgresql":
            return f"{request.getfixturevalue('fresh_postgres_url')}#ledger_witness"
        case _:
            return InMemory()


def _visits() -> dc.Table:
    rows = pa.table({"patient": list(range(100)), "ward": ["icu", "er"] * 50, "age": list(range(100))})
    wards = {"ward": dc.Categorical(["er", "icu"]), "age": dc.Integer(0, 119)}
    domain = dc.Domain({"patient": dc.Identifier(), **wards})
    return dc.Table(rows, domain=domain, unit="patient", rows_per_unit=1)


def _curator(place, witness) -> dc.Curator:
    return dc.Curator({"visits": _visits()}, budget=dc.PureDP(1), ledger=place, witness=witness)


def _spend(ledger: Ledger, **request) -> int:
    return ledger.spend(PRICE, **{"unit": "patient", "tables": ["visits"]} | request).id


def _begun(place, witness) -> Ledger:
    ledger = Ledger.open(place, witness=witness)
    ledger.register(unit="patient", cap=PureDP(1))
    return ledger


def _spent(ledger: Ledger) -> Fraction:
    return ledger.budget("patient").balance.spent.epsilon


def _spends(ledger: Ledger) -> int:
    return sum(entry.record["kind"] == "spend" for entry in ledger.entries())


def test_yesterdays_copy_of_the_ledger_answers_nothing(tmp_path, witness):
    """The finding: seven answers of 1/4 under a cap of 1."""
    place, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    with _curator(place, witness) as curator:
        curator.ask(COUNT, epsilon=QUARTER)
    shutil.copy(place, copy)
    with _curator(place, witness) as curator:
        curator.ask(COUNT + " WHERE ward = 'icu'", epsilon=QUARTER)
    shutil.copy(copy, place)

    with pytest.raises(LedgerError, match=r"its witness has seen entry .* an old copy"):
        _curator(place, witness)
    with pytest.raises(LedgerError, match="has a witness; open it with its witness"):
        _curator(place, None).ask(COUNT, epsilon=QUARTER, fresh=True)
    Ledger.open(place).verify()  # it may be looked at


def test_a_copy_that_is_put_back_under_a_running_process_is_refused_before_the_charge(tmp_path, witness):
    place = tmp_path / "ledger.db"
    with _begun(place, witness) as ledger:
        _spend(ledger)
    shutil.copy(place, tmp_path / "copy.db")
    running = Ledger.open(tmp_path / "copy.db", witness=witness)  # the same ledger until now
    with Ledger.open(place, witness=witness) as ledger:
        _spend(ledger)
    before = running.anchor()
    with pytest.raises(LedgerError, match="an old copy"):
        _spend(running)

    assert running.anchor() == before
    running.close()


def test_of_two_copies_that_go_on_one_is_refused_for_good(tmp_path, witness):
    """A forked volume: the one that the witness saw first goes on, whoever that is."""
    place, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    with _begun(place, witness) as ledger:
        _spend(ledger)
    shutil.copy(place, copy)
    one, other = Ledger.open(place, witness=witness), Ledger.open(copy, witness=witness)
    _spend(other)
    with pytest.raises(LedgerError, match="an old copy"):
        _spend(one)
    _spend(other)
    one._store.watch = None  # one that does not look makes itself another history
    with one._store.writing() as transaction:
        transaction.last()
        transaction.hold(None)
    _spend(one), _spend(one), _spend(one)
    one.close()

    with pytest.raises(LedgerError, match="not the one that the witness has seen"):
        Ledger.open(place, witness=witness, verify=False)
    _spend(other)
    other.close()


def test_two_copies_that_charge_at_the_same_moment_do_not_both_read(tmp_path, witness):
    """Both were compared with the witness before either moved it: compare-and-set lets one of them read."""
    place, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    _begun(place, witness).close()
    shutil.copy(place, copy)
    one, other = Ledger.open(place, witness=witness), Ledger.open(copy, witness=witness)
    move, met = one._store.watch.move, []

    def slow(state, drawn):
        met.append(_spend(other))  # between the sync of the one and its witness
        move(state, drawn)

    one._store.watch.move = slow
    with pytest.raises(Unmoved, match="moved by another copy"):
        _spend(one)
    one._store.watch.move = move
    with pytest.raises(LedgerError, match="not the one that the witness has seen"):
        _spend(one)

    assert met
    one.close()
    other.close()


def test_an_unreachable_witness_refuses_free_and_the_next_question_is_answered(tmp_path):
    witness, place = InMemory(), tmp_path / "ledger.db"
    with _curator(place, witness) as curator:
        first = curator.ask(COUNT, epsilon=QUARTER)
        witness.unreachable = True
        with pytest.raises(LedgerError, match=r"cannot be reached \(ConnectionError\); nothing was spent"):
            curator.ask(COUNT + " WHERE ward = 'icu'", epsilon=QUARTER)
        with pytest.raises(LedgerError, match="cannot be reached"):
            curator.ledger.allot("ada", PureDP("1/2"))

        assert _spent(curator.ledger) == QUARTER
        assert curator.ask(COUNT, epsilon=QUARTER).to_bytes() == first.to_bytes()  # what was paid for needs no witness
        with _curator(place, witness) as another:  # explains, repeats what was paid for, and charges nothing
            another.explain(COUNT, epsilon=QUARTER)
            assert another.ask(COUNT, epsilon=QUARTER).to_bytes() == first.to_bytes()
            with pytest.raises(LedgerError, match="cannot be reached"):
                another.ask(COUNT, epsilon=QUARTER, fresh=True)
        witness.unreachable = False
        curator.ask(COUNT + " WHERE ward = 'icu'", epsilon=QUARTER)
        assert _spent(curator.ledger) == 2 * QUARTER


def test_a_volume_that_is_not_there_is_no_witness(tmp_path):
    with pytest.raises(LedgerError, match="cannot be reached"):
        Ledger.open(tmp_path / "ledger.db", witness=tmp_path / "nowhere" / "witness.json")

    assert not (tmp_path / "ledger.db").exists()


def test_a_copy_that_was_opened_while_the_witness_was_away_is_refused_when_it_is_back(tmp_path):
    witness, place, copy = InMemory(), tmp_path / "ledger.db", tmp_path / "copy.db"
    _begun(place, witness).close()
    shutil.copy(place, copy)
    with Ledger.open(place, witness=witness) as ledger:
        _spend(ledger)
    witness.unreachable = True
    with Ledger.open(copy, witness=witness) as ledger:
        witness.unreachable = False
        with pytest.raises(LedgerError, match="an old copy"):
            _spend(ledger)
    witness.unreachable = True
    with Ledger.open(tmp_path / "other.db") as other:
        other.register(unit="patient", cap=PureDP(1))
    with pytest.raises(LedgerError, match="cannot be reached"):  # it has none yet, and cannot begin one
        Ledger.open(tmp_path / "other.db", witness=witness)


def test_a_witness_that_has_seen_nothing_is_not_believed_by_a_ledger_that_has_one(tmp_path):
    """An empty folder where a volume should be mounted."""
    place, first, second = tmp_path / "ledger.db", tmp_path / "one.json", tmp_path / "two.json"
    _begun(place, first).close()
    with pytest.raises(LedgerError, match="has seen nothing: is its volume there"):
        Ledger.open(place, witness=second)
    with Ledger.open(place) as ledger:
        ledger.witness_anew(second, reason="its volume was lost")
        _spend(ledger)
    with Ledger.open(place, witness=second) as ledger:
        assert _spends(ledger) == 1


def test_a_ledger_that_never_had_a_witness_begins_one(tmp_path, witness):
    place = tmp_path / "ledger.db"
    with Ledger.open(place) as ledger:
        ledger.register(unit="patient", cap=PureDP(1))
        _spend(ledger)
    with Ledger.open(place, witness=witness) as ledger:
        _spend(ledger)

        assert [entry.record["kind"] for entry in ledger.entries()] == ["genesis", "cap", "spend", "witness", "spend"]
        assert ledger.verify() == ledger.anchor()


def test_a_ledger_ahead_of_its_witness_moves_it_on(tmp_path):
    witness, place = InMemory(), tmp_path / "ledger.db"
    with _begun(place, witness) as ledger:
        old = witness.held
        _spend(ledger), _spend(ledger)
        last = ledger.anchor()
    witness.held = (witness.held[0], old[1])
    with Ledger.open(place, witness=witness):
        assert State.read(witness.held[1]).last == last


def test_what_was_charged_while_the_witness_could_not_be_written_is_drawn_later_under_that_charge(tmp_path):
    witness, place = InMemory(), tmp_path / "ledger.db"
    with _curator(place, witness) as curator:
        read = []
        released, curator._release = curator._release, lambda *given: (read.append(1), released(*given))[1]
        witness.unwritable = True
        for _ in range(3):
            with pytest.raises(LedgerError, match="nothing was read: ask again, and it is not charged again"):
                curator.ask(COUNT, epsilon=QUARTER)
        assert (_spent(curator.ledger), read) == (QUARTER, [])
        witness.unwritable = False
        curator.ask(COUNT + " WHERE ward = 'icu'", epsilon=QUARTER)  # moves the witness past the one that waits
        answer = curator.ask(COUNT, epsilon=QUARTER)

        assert (_spends(curator.ledger), _spent(curator.ledger), len(read)) == (2, 2 * QUARTER, 2)
        assert curator.ask(COUNT, epsilon=QUARTER).to_bytes() == answer.to_bytes()
        assert not curator.ledger.unread()


def test_the_ledger_has_the_charge_before_the_witness_and_the_witness_before_a_row_is_read(tmp_path, monkeypatch):
    """Looked at from outside, at each of the three moments."""
    witness, place, seen = InMemory(), tmp_path / "ledger.db", []

    def committed() -> int:
        with closing(sqlite3.connect(f"file:{place}?mode=ro", uri=True)) as other:
            return other.execute("SELECT max(id) FROM entries").fetchone()[0]

    def shown() -> int:
        return State.read(witness.held[1]).last.id

    with _curator(place, witness) as curator:
        replace, release = witness.compare_and_set, curator._release
        spend = committed() + 1
        monkeypatch.setattr(
            witness, "compare_and_set", lambda *given: (seen.append(("move", committed(), shown())), replace(*given))[1]
        )
        curator._release = lambda *given: (seen.append(("read", committed(), shown())), release(*given))[1]
        curator.ask(COUNT, epsilon=QUARTER)

    assert seen == [("move", spend, spend - 1), ("read", spend, spend)]


@pytest.mark.parametrize("restart", [False, True])
def test_a_reply_of_the_witness_that_was_lost_costs_at_most_one_more_charge_and_never_a_second_draw(tmp_path, restart):
    witness, place = InMemory(), tmp_path / "ledger.db"
    ledger = _begun(place, witness)
    witness.writes_and_fails = True
    with pytest.raises(Unmoved):
        _spend(ledger, key="k")
    witness.writes_and_fails = False
    if restart:  # another process cannot know whether the first one read
        ledger.close()
        ledger = Ledger.open(place, witness=witness)
    receipt = ledger.spend(PRICE, unit="patient", tables=["visits"], key="k")

    assert receipt.replayed == restart
    assert ledger.spend(PRICE, unit="patient", tables=["visits"], key="k").replayed
    ledger.close()


def test_of_two_processes_that_may_draw_under_a_charge_one_does(tmp_path):
    """The first failed and may try again; the second took the charge meanwhile, read, and stored nothing."""
    witness, place = InMemory(), tmp_path / "ledger.db"
    first = _begun(place, witness)
    witness.writes_and_fails = True
    with pytest.raises(Unmoved):
        _spend(first, key="k")
    held = State.read(witness.held[1])
    witness.held = (witness.held[0], State(ledger=held.ledger, last=held.last, totals=held.totals,
                    unread=frozenset({held.last.id})).text())  # fmt: skip
    witness.writes_and_fails = False
    second = Ledger.open(place, witness=witness)
    assert not second.spend(PRICE, unit="patient", tables=["visits"], key="k").replayed
    assert first.spend(PRICE, unit="patient", tables=["visits"], key="k").replayed
    first.close()
    second.close()


def test_releases_models_and_synthetic_data_are_drawn_under_the_charge_that_waits(tmp_path):
    witness = InMemory()
    with _curator(tmp_path / "ledger.db", witness) as curator:
        workload = curator.marginals("visits", 1)
        orders = [
            lambda: curator.release(workload, table="visits", epsilon="1/10", mechanism="IndependentNoise"),
            lambda: curator.synthesize(table="visits", epsilon="1/10"),
            lambda: curator.fit(NaiveBayes(), table="visits", target="ward", columns=["ward", "age"], epsilon="1/10"),
        ]
        for number, order in enumerate(orders, start=1):
            witness.unwritable = True
            with pytest.raises(LedgerError, match="nothing was read"):
                order()
            witness.unwritable = False
            order()
            order()

            assert _spends(curator.ledger) == number


@pytest.fixture
def stopped(tmp_path, monkeypatch):
    """A run of synthetic data that ended in its third round: what to call, and what lies beside it, with its ledger."""
    witness, folder, real, done = InMemory(), tmp_path / "work", Adaptive._measure, count()
    folder.mkdir()

    def synthesize() -> object:
        with _curator(folder / "ledger.db", witness) as curator:
            return curator.synthesize(
                table="visits", columns=["ward", "age"], epsilon="1/10", checkpoint=folder / "r.json"
            )

    def ending(self, *given):
        if next(done) == 2:
            raise MemoryError
        return real(self, *given)

    with monkeypatch.context() as patched:
        patched.setattr(Adaptive, "_measure", ending)
        with pytest.raises(dc.errors.DiscreetError, match="the run failed"):
            synthesize()
    shutil.copytree(folder, tmp_path / "yesterday")
    return synthesize, folder, witness


def _put_back(folder: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(folder.with_name("yesterday"), folder)


def test_a_run_that_ended_does_not_go_on_again_from_a_copy_of_its_file_and_ledger(stopped):
    """No charge came after it, so that only the run's end tells the copy from the ledger."""
    synthesize, folder, witness = stopped
    synthesize()
    with _curator(folder / "ledger.db", witness) as curator:
        assert _spends(curator.ledger) == 1
        curator.ledger.verify()
        assert "a stopped run goes on under entry" in curator.ledger.report().to_html()
    _put_back(folder)

    with pytest.raises(LedgerError, match="an old copy was put in its place"):
        synthesize()


def test_of_two_copies_of_a_stopped_run_one_goes_on(stopped, monkeypatch):
    synthesize, folder, _ = stopped
    with monkeypatch.context() as patched:  # the first one goes on, and stops again
        patched.setattr(Adaptive, "_measure", lambda *_: 1 / 0)
        with pytest.raises(dc.errors.DiscreetError, match="the run failed"):
            synthesize()
    _put_back(folder)

    with pytest.raises(LedgerError, match="an old copy was put in its place"):
        synthesize()


def test_a_stopped_run_waits_until_its_witness_is_there(stopped):
    synthesize, folder, witness = stopped
    for fault in ("unreachable", "unwritable"):
        setattr(witness, fault, True)
        file = (folder / "r.json").read_bytes()
        with pytest.raises(LedgerError, match="nothing was"):
            synthesize()
        assert (folder / "r.json").read_bytes() == file
        setattr(witness, fault, False)
    witness.writes_and_fails = True  # seen, and nobody knows: what was read before is not drawn anew for that
    with pytest.raises(LedgerError, match="nothing was read"):
        synthesize()
    witness.writes_and_fails = False
    with _curator(folder / "ledger.db", witness) as curator:
        assert curator.ledger.unread() == frozenset()
    synthesize()
    with _curator(folder / "ledger.db", witness) as curator:
        assert _spends(curator.ledger) == 1


def test_a_stopped_run_of_a_ledger_with_a_witness_does_not_go_on_without_it(stopped):
    _, folder, _ = stopped
    with pytest.raises(LedgerError, match="this ledger has a witness"):
        dc.Curator({"visits": _visits()}, budget=dc.PureDP(1), ledger=folder / "ledger.db").synthesize(
            table="visits", columns=["ward", "age"], epsilon="1/10", checkpoint=folder / "r.json"
        )


def test_the_steward_moves_the_witness_too(tmp_path):
    witness = InMemory()
    with _begun(tmp_path / "ledger.db", witness) as ledger:
        _spend(ledger)
        for act in (
            lambda: ledger.allot("ada", PureDP("1/2")),
            lambda: ledger.sub_cap("visits", PureDP("1/2")),
            lambda: ledger.top_up("patient", PureDP(2), reason="a second study"),
            lambda: ledger.renew("patient", period="2027", cap=PureDP(1), reason="a new year"),
            lambda: ledger.erase("visits", version="2", requests=1),
            lambda: ledger.retire("visits", reason="sold"),
            lambda: ledger.reopen("visits", reason="it was not"),
        ):
            act()
            state = State.read(witness.held[1])

            assert state.last == ledger.anchor()
            with ledger._store.reading() as transaction:
                assert dict(state.totals) == transaction.all_balances()


def test_a_kill_at_any_step_charges_once_where_nothing_was_read_and_loses_no_answer(tmp_path):
    place, other = tmp_path / "ledger.db", tmp_path / "elsewhere"
    other.mkdir()
    with Ledger.open(place, witness=other / "w.json") as ledger:
        ledger.register(unit="patient", cap=life.CAP)
    found = run("witnessed", "steps", place, other / "w.json")
    with Ledger.open(place, witness=other / "w.json") as ledger:
        charged = [life.asked_number(entry.record["query"]) for entry in ledger.entries() if "query" in entry.record]
    for number, (step, (*_, charges, _)) in enumerate(witnessed.STEPS.items()):
        seen = found[step]

        assert (seen["killed"], seen["said"]) == (9, []), step
        assert len(seen["again"]) == 1, step
        assert charged.count(number) == charges, step


@pytest.mark.parametrize("witness", ["file", "postgresql"], indirect=True)
def test_processes_and_threads_that_share_a_ledger_and_its_witness_all_go_on(tmp_path, witness):
    place, each = tmp_path / "ledger.db", 10
    _begun(place, witness).close()

    def work(say) -> None:
        with Ledger.open(place, witness=witness, verify=False) as ledger, ThreadPoolExecutor(2) as pool:
            numbers = list(pool.map(lambda _: _spend(ledger), range(each)))
        say(json.dumps(numbers))

    said = [number for child in [Child(work) for _ in range(2)] for line in child.end() for number in json.loads(line)]
    with Ledger.open(place, witness=witness) as ledger:
        assert len(set(said)) == 2 * each
        assert _spent(ledger) == 2 * each * Fraction(1, 100)
        assert ledger.verify() == ledger.anchor()


def test_a_ledger_in_postgresql_has_a_witness_in_a_file(fresh_postgres_url, tmp_path):
    witness = tmp_path / "witness.json"
    with _begun(fresh_postgres_url, witness) as ledger:
        _spend(ledger, key="k")
        assert State.read(FileWitness(witness).read()[1]).last == ledger.anchor()
    with FileWitness(witness)._locked():
        kept = witness.read_bytes()
    with Ledger.open(fresh_postgres_url, witness=witness) as ledger:
        _spend(ledger)
    version = json.loads(kept)["version"]
    witness.write_bytes(kept.replace(b'"version":"%s"' % version.encode(), b'"version":"99"'))
    with Ledger.open(fresh_postgres_url, witness=witness) as ledger:  # ahead: it moves the witness on
        assert State.read(FileWitness(witness).read()[1]).last == ledger.anchor()


def test_after_a_lost_disk_a_new_ledger_begins_at_the_totals_of_the_witness(tmp_path, witness):
    place = tmp_path / "ledger.db"
    with _curator(place, witness) as curator:
        curator.ledger.allot("ada", PureDP("1/2"))
        curator.ask(COUNT, epsilon=QUARTER, analyst="ada")
        before = curator.budget
    for file in tmp_path.glob("ledger.db*"):
        file.unlink()
    with pytest.raises(LedgerError, match=r"there is no ledger at .* discreet ledger recover"):
        _curator(place, witness)
    Ledger.recover(place, witness=witness, reason="the disk was lost").close()
    with _curator(place, witness) as curator:
        assert curator.budget == before
        assert curator.ledger.verify() == curator.ledger.anchor()
        with pytest.raises(BudgetExhausted):
            curator.ask(COUNT, epsilon="0.8")
        with pytest.raises(BudgetExhausted):
            curator.ask(COUNT, epsilon="0.3", analyst="ada")
        curator.ask(COUNT, epsilon=QUARTER, analyst="ada")
    with pytest.raises(LedgerError, match="nothing is missing"):
        Ledger.recover(place, witness=witness, reason="again")


def test_in_a_copy_that_was_put_back_what_is_missing_is_booked(tmp_path, witness):
    place, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    with _begun(place, witness) as ledger:
        _spend(ledger)
    shutil.copy(place, copy)
    with Ledger.open(place, witness=witness) as ledger:
        _spend(ledger, tables=["bills"]), _spend(ledger)
        before = ledger.budget("patient")
    with Ledger.recover(copy, witness=witness, reason="put back") as ledger:
        assert ledger.budget("patient") == before
        _spend(ledger)
    with Ledger.open(copy, witness=witness) as ledger:
        assert _spent(ledger) == Fraction(4, 100)
    with pytest.raises(LedgerError, match=r"not the one that the witness has seen|old copy|another"):
        Ledger.open(place, witness=witness, verify=False)  # the lost one, found again


def test_a_copy_that_spent_apart_is_not_booked_into(tmp_path):
    place, copy, witness = tmp_path / "ledger.db", tmp_path / "copy.db", InMemory()
    _begun(place, witness).close()
    shutil.copy(place, copy)
    with Ledger.open(place, witness=witness) as ledger:
        _spend(ledger), _spend(ledger), _spend(ledger)
    with Ledger.open(copy) as apart:
        apart.witness_anew(None, reason="nobody looks")
        _spend(apart, tables=["bills"])
    with pytest.raises(LedgerError, match="used apart"):
        Ledger.recover(copy, witness=witness, reason="put back")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format":1}', '{"format":2}', "null", '"x"', "{" * 10**5])
def test_a_witness_that_holds_something_else_is_refused(tmp_path, text):
    witness = InMemory()
    _begun(tmp_path / "ledger.db", witness).close()
    witness.held = ("1", text)
    with pytest.raises(LedgerError):
        Ledger.open(tmp_path / "ledger.db", witness=witness)
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(LedgerError, match="holds something that no ledger has written"):
        FileWitness(tmp_path / "w.json").read()


def test_a_witness_of_another_ledger_is_refused(tmp_path):
    witness = InMemory()
    _begun(tmp_path / "one.db", witness).close()
    with Ledger.open(tmp_path / "two.db") as ledger:
        ledger.register(unit="patient", cap=PureDP(1))
    with pytest.raises(LedgerError, match="of another ledger"):
        Ledger.open(tmp_path / "two.db", witness=witness)


def test_the_file_of_a_witness_is_its_owners_alone_and_nothing_is_left_beside_it(tmp_path):
    witness = FileWitness(tmp_path / "w.json")
    texts = [
        witness.compare_and_set(*given) for given in ((None, "a"), ("1", "b"), ("1", "c"), (None, "d"), ("2", "e"))
    ]

    assert texts == [True, True, False, False, True]
    assert witness.read() == ("3", "e")
    assert {file.name for file in tmp_path.iterdir()} == {"w.json", "w.json.lock"}
    assert [file.stat().st_mode & 0o777 for file in sorted(tmp_path.iterdir())] == [0o600, 0o600]


def test_a_link_to_the_witness_stays_a_link(tmp_path):
    (tmp_path / "volume").mkdir()
    (tmp_path / "w.json").symlink_to(tmp_path / "volume" / "w.json")
    FileWitness(tmp_path / "w.json").compare_and_set(None, "a")

    assert (tmp_path / "w.json").is_symlink()
    assert FileWitness(tmp_path / "volume" / "w.json").read() == ("1", "a")


@pytest.mark.parametrize("kind", ["file", "postgresql"])
def test_of_many_who_expect_one_version_one_replaces_it(kind, request, tmp_path):
    if kind == "file":
        made = partial(FileWitness, tmp_path / "w.json")
    else:
        made = partial(PostgresWitness, f"{request.getfixturevalue('fresh_postgres_url')}#public.seen")
    numbers = count()
    for expected in (None, "1", "2"):
        with ThreadPoolExecutor(6) as pool:
            won = list(pool.map(lambda _, e=expected: made().compare_and_set(e, f"{next(numbers)}"), range(6)))

        assert won.count(True) == 1


@pytest.mark.parametrize("given", ["s3://bucket/key", "postgresql:///test", 'postgresql:///test#a"b', 7])
def test_what_cannot_be_a_witness_is_refused(given, tmp_path):
    with pytest.raises(LedgerError, match="a witness"):
        Ledger.open(tmp_path / "ledger.db", witness=given)

    assert not isinstance(given, Witness)


def test_a_ledger_is_not_its_own_witness(tmp_path):
    with pytest.raises(LedgerError, match="its own witness"):
        Ledger.open(tmp_path / "ledger.db", witness=tmp_path / "ledger.db")


def test_the_twin_that_reads_before_the_witness_has_seen_it_is_caught(tmp_path, monkeypatch):
    """Two copies then both answer from one budget."""
    place, copy, witness = tmp_path / "ledger.db", tmp_path / "copy.db", InMemory()
    _begun(place, witness).close()
    shutil.copy(place, copy)
    one, other = Ledger.open(place, witness=witness), Ledger.open(copy, witness=witness)
    monkeypatch.setattr(Watch, "move", lambda *_: None)

    assert [_spend(one), _spend(other)] == [3, 3]
    one.close()
    other.close()


def test_the_documents_say_what_no_witness_means():
    limits = (Path(__file__).parents[2] / "docs/limitations.md").read_text()

    assert "Without a witness, a copy of the ledger's folder" in limits
