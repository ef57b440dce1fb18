"""discreet.service.running: each claim of its modules, on values and on fakes; real children are in the other files."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BudgetExhausted, LedgerError, ParameterError
from discreet.ledger import Ledger
from discreet.privacy.guarantee import PureDP
from discreet.service.running import announced, frames
from discreet.service.running.announced import Announced, Overrun, PaidBefore
from discreet.service.running.child import Child
from discreet.service.running.heard import Heard
from discreet.service.running.limits import environment
from discreet.service.running.outcome import Answered, Order, Outcome, Refused, Withheld
from discreet.service.running.process import Nursery, Stillborn
from discreet.service.running.queue import Queue
from discreet.service.running.records import Records, digest
from discreet.service.running.runner import Runner
from discreet.service.running.schedule import Slot, tick
from discreet.service.running.work import KINDS
from discreet.service.store import open_store
from tests.scale import counts
from tests.service.children import question, settings, written

words = st.text(max_size=5)
values = st.none() | st.booleans() | st.integers() | words | st.lists(words, max_size=3)
messages = st.dictionaries(words, values, max_size=3)
shares = st.floats(min_value=0.01, max_value=0.99)


@given(st.lists(messages, max_size=5))
def test_messages_come_out_of_a_pipe_as_they_went_in(sent):
    reads, writes = os.pipe()
    for message in sent:
        frames.write(writes, message)
    os.close(writes)
    found = []
    while (message := frames.read(reads)) is not None:
        found.append(message)
    os.close(reads)

    assert found == sent


@pytest.mark.parametrize("body", [b"\xff\xff\xff\xff", b"\0\0\0\5{}", b"\0\0\0\2[]", b"\0\0\0\2{{", b"\0\0"], ids=repr)
def test_what_is_no_message_ends_the_conversation(body):
    reads, writes = os.pipe()
    os.write(writes, body)
    os.close(writes)

    with pytest.raises(frames.Broken):
        frames.read(reads)
    os.close(reads)


@given(st.floats(min_value=0, max_value=1e6), st.floats(min_value=0.01, max_value=100), shares)
def test_a_slot_stores_then_kills_then_sends(start, seconds, share):
    slot = Slot(start=start, seconds=seconds, margin=seconds * share)

    assert slot.start < slot.store_at < slot.kill_at < slot.send_at == start + seconds


def test_a_margin_that_leaves_no_time_is_refused():
    with pytest.raises(ParameterError, match="need 0 < margin < slot"):
        Slot(start=0.0, seconds=1.0, margin=1.0)


@given(st.floats(min_value=0, max_value=1e4), st.floats(min_value=0.1, max_value=10))
def test_a_tick_is_the_first_whole_number_of_ticks_from_now(past, seconds):
    found = tick(100 + past, start=100.0, seconds=seconds)
    number = (found - 100) / seconds

    assert abs(number - round(number)) < 1e-6
    assert -1e-6 <= found - (100 + past) < seconds + 1e-6


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers()), max_size=30))
def test_principals_take_turns(puts):
    queue: Queue[tuple[str, int]] = Queue(most=100, each=100)
    for name, number in puts:
        queue.put(name, (name, number))
    taken = []
    while (found := queue.take()) is not None:
        taken.append(found)
    waiting = {name: sum(one == name for one, _ in puts) for name, _ in puts}

    assert sorted(taken) == sorted(puts)
    for name, number in waiting.items():
        places = [place for place, (one, _) in enumerate(taken) if one == name]
        assert [taken[place] for place in places] == [one for one in puts if one[0] == name]  # in their own order
        others = len(waiting) - 1
        assert all(after - before - 1 <= others for before, after in pairwise(places))
        assert len(places) == number


def test_nobody_has_all_the_children():
    queue: Queue[int] = Queue(most=10, each=2)
    for number in range(4):
        queue.put("eve", number)

    assert (queue.take(), queue.take(), queue.take()) == (0, 1, None)
    queue.put("ada", 9)
    assert queue.take() == 9
    queue.done("eve")
    assert queue.take() == 2


def test_a_full_line_turns_the_greediest_away():
    queue: Queue[str] = Queue(most=4, each=1)
    for number in range(4):
        assert queue.put("eve", f"eve {number}") is None

    assert queue.put("ada", "ada 0") == "eve 3"
    assert queue.put("eve", "eve 4") == "eve 4"
    assert len(queue) == 4


def test_a_first_come_first_served_line_is_caught():
    """The twin: with one line for all, eve's orders come before ada's."""
    line: Queue[str] = Queue(most=10, each=10)
    for item in ["eve 0", "eve 1", "eve 2", "ada 0"]:
        line.put("everybody", item)
    turns: Queue[str] = Queue(most=10, each=10)
    for item in ["eve 0", "eve 1", "eve 2", "ada 0"]:
        turns.put(item[:3], item)

    assert [line.take() for _ in range(4)].index("ada 0") == 3
    assert [turns.take() for _ in range(4)].index("ada 0") == 1


def test_what_was_heard_decides_how_an_order_ended():
    paying, charged = {"event": "paying"}, {"event": "charged", "receipt": {"id": 3}}
    ends = {
        (): Refused,
        (0,): Withheld,
        (0, 1): Withheld,
        (0, 1, 2): Answered,
        (3,): Refused,
        (0, 3): Refused,
        (0, 1, 4): Withheld,
    }
    said = [paying, charged, {"event": "done", "document": {}, "files": {}}, {"event": "refused", "problem": {}}]
    said.append({"event": "withheld"})
    for places, kind in ends.items():
        heard = Heard()
        for place in places:
            heard.add(said[place])
        assert type(heard.outcome()) is kind, places
        assert heard.at_once == (kind is Refused)


def test_children_have_none_of_the_parents_secrets(monkeypatch):
    monkeypatch.setenv("DISCREET_TOKEN", "dct_secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")

    assert "secret" not in repr(environment())


@pytest.fixture
def ledger():
    with Ledger.open(":memory:") as opened:
        opened.register(unit="patient", cap=PureDP(2))
        yield opened


SPEND = {"unit": "patient", "tables": ["visits"], "analyst": "ada", "query": "q", "key": "k"}


def test_the_parent_hears_before_and_after_a_spend(ledger):
    told: list[object] = []
    watched = Announced(ledger, lambda said: told.append((said["event"], len(list(ledger.entries())))))
    receipt = watched.spend(PureDP(1), **SPEND)

    assert told == [("paying", 2), ("charged", 3)]  # the genesis and the cap; then the spend as well
    assert watched.touched
    assert watched.receipt == receipt


def test_a_refused_spend_touches_nothing(ledger):
    watched = Announced(ledger, lambda said: None)

    with pytest.raises(BudgetExhausted):
        watched.spend(PureDP(3), **SPEND)
    assert not watched.touched


def test_a_spend_of_which_nobody_knows_counts_as_made(ledger):
    watched = Announced(ledger, lambda said: ledger.close())  # the ledger fails between the message and the spend

    with pytest.raises(LedgerError):
        watched.spend(PureDP(1), **SPEND)
    assert watched.touched


def test_an_order_that_paid_before_does_not_pay_again(ledger):
    Announced(ledger, lambda said: None).spend(PureDP(1), **SPEND)
    again = Announced(ledger, lambda said: None, paid={"k": False})

    with pytest.raises(PaidBefore):
        again.spend(PureDP(1), fresh=True, **SPEND)
    assert ledger.budget("patient").balance.spent.epsilon == Fraction(1)


def test_an_order_that_paid_and_stored_finds_its_answer(ledger):
    first = Announced(ledger, lambda said: None)
    first.store(first.spend(PureDP(1), **SPEND), b"the answer")
    again = Announced(ledger, lambda said: None, paid={"k": True})
    receipt = again.spend(PureDP(1), fresh=True, **SPEND)

    assert receipt.replayed
    assert again.recall("k", analyst="ada") == b"the answer"
    assert ledger.budget("patient").balance.spent.epsilon == Fraction(1)


def test_a_run_that_goes_on_under_an_earlier_charge_is_never_refused_free(tmp_path, monkeypatch):
    """The first attempt spends and dies; the second takes its receipt from a checkpoint, and fails."""
    told: list[str] = []
    mine = Child(
        written(tmp_path), memory=512, store=str(tmp_path / "service.db"), tell=lambda said: told.append(said["event"])
    )
    order = {"kind": "release", "principal": "ada", "body": {"table": "visits"}, "key": "job 1"}

    def dies(desk, body):
        desk.curator.ledger.spend(PureDP(1), **SPEND)
        raise KeyboardInterrupt

    def goes_on(desk, body):
        raise ParameterError("need something that the rows did not have")

    monkeypatch.setitem(KINDS, "release", dies)
    with pytest.raises(KeyboardInterrupt):
        mine.serve({"order": order})
    monkeypatch.setitem(KINDS, "release", goes_on)
    mine.serve({"order": order})
    mine.serve({"order": order | {"key": "job 2"}})  # one that has not paid is free
    mine._forget()

    assert told == ["paying", "charged", "paying", "withheld", "refused"]


@pytest.mark.parametrize("fails", [False, True])
def test_the_reply_to_a_question_is_made_before_its_answer_is_stored(tmp_path, monkeypatch, fails):
    """What was stored is told, and what is withheld was not stored; who asks the same waits until it is."""
    seen: list[str] = []
    turn, store = Ledger.turn, Ledger.store

    @contextmanager
    def noted(self, key, **given):
        with turn(self, key, **given):
            seen.append("turn")
            try:
                yield
            finally:
                seen.append("next")

    def large(desk, body):
        with desk.curator.ledger.turn("k", analyst="ada"):
            desk.curator.ledger.store(desk.curator.ledger.spend(PureDP(1), **SPEND), b"the answer")
        seen.append("document")
        if fails:
            raise MemoryError
        return {}, {}

    monkeypatch.setattr(Ledger, "turn", noted)
    monkeypatch.setattr(Ledger, "store", lambda *given, **more: (seen.append("store"), store(*given, **more)))
    monkeypatch.setitem(KINDS, "ask", large)
    child = Child(
        written(tmp_path), memory=512, store=str(tmp_path / "service.db"), tell=lambda said: seen.append(said["event"])
    )
    child.serve({"order": {"kind": "ask", "principal": "ada", "body": {}, "key": None}})
    child._forget()

    end = ["next", "withheld"] if fails else ["store", "next", "done"]
    assert seen == ["turn", "paying", "charged", "document", *end]


@pytest.mark.parametrize("ready", [10.0, 12.5, 14.99])
def test_an_answer_is_stored_at_its_moment_however_early_it_is_ready(ledger, monkeypatch, ready):
    clock, stored = [ready], []
    monkeypatch.setattr(announced.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(announced.time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds))
    monkeypatch.setattr(ledger, "store", lambda receipt, answer, **_: stored.append(clock[0]))
    watched = Announced(ledger, lambda said: None, moment=lambda: 15.0)
    watched.store(watched.spend(PureDP(1), **SPEND), b"answer")

    assert stored == [15.0]


def test_an_answer_that_is_late_is_never_stored(ledger, monkeypatch):
    monkeypatch.setattr(announced.time, "monotonic", lambda: 15.5)
    watched = Announced(ledger, lambda said: None, moment=lambda: 15.0)
    receipt = watched.spend(PureDP(1), **SPEND)

    with pytest.raises(Overrun):
        watched.store(receipt, b"answer")
    assert ledger.recall("k", analyst="ada") is None


def test_records_tell_how_far_an_order_got():
    order = Order(kind="ask", principal="ada", body={"question": "q"}, key="k1")
    with open_store(":memory:") as store:
        records = Records(store)
        before = records.known(order)
        records.promise(order, paying="ledger key", since=4)
        promised = records.known(order)
        records.reply(order, "{}")
        replied = records.known(order)
        records.forget(order)  # a reply is never forgotten
        kept = records.known(order)

    assert before is None
    assert promised is not None
    assert (promised.digest, promised.paying, promised.since, promised.reply) == (digest(order), "ledger key", 4, None)
    assert replied is not None
    assert replied.reply == "{}"
    assert kept == replied


def test_jobs_are_found_by_principal_key_and_state():
    order = Order(kind="fit", principal="ada", body={"table": "visits"}, key="k1")
    with open_store(":memory:") as store:
        records = Records(store)
        first, again = (records.add_job(number, order, most=2) for number in ("j1", "j2"))
        other = records.add_job("j3", Order(kind="fit", principal="ada", body={}), most=2)
        refused = records.add_job("j4", Order(kind="fit", principal="ada", body={}), most=2)
        records.change_job("j1", state="done", receipt={"id": 7}, files={"model": "/tmp/model"})
        done, rest = records.job("j1"), records.jobs(principal="ada", unfinished=True)

    assert first == again
    assert refused is None
    assert other is not None
    assert done is not None
    assert (done.state, done.receipt, done.to_dict()["files"]) == ("done", {"id": 7}, ["model"])
    assert [job.id for job in rest] == ["j3"]


REPEATS = counts(quick=200, full=5_000)


def _alone(tmp_path, **given) -> Runner:
    """A runner that is open and has no child: whoever comes waits."""
    file = written(tmp_path)
    runner = Runner(file, settings(file, **given))
    runner._open = True
    return runner


@pytest.mark.parametrize("same", [True, False], ids=["of one question", "of many questions"])
def test_no_more_orders_live_than_fit_into_the_line(tmp_path, same):
    """One principal repeats one question under fresh keys; waiting outside the line, all of them would live."""
    runner = _alone(tmp_path, queue=4, children=2)

    async def crowd() -> tuple[int, list[Outcome]]:
        eves = [
            asyncio.ensure_future(runner.ask(question("eve", key=f"k{n}", fresh=same, epsilon="1" if same else f"{n}")))
            for n in range(1, REPEATS + 1)
        ]
        ada = asyncio.ensure_future(runner.ask(question("ada")))
        for _ in range(20):  # rounds of the loop, however long each takes: nobody here waits for anything but a child
            await asyncio.sleep(0)
        live = len(runner._live)
        assert not ada.done()  # whoever wants little is not turned away
        await runner.stop()
        return live, await asyncio.gather(*eves)

    live, outcomes = asyncio.run(crowd())
    codes = [found.problem["status"] for found in outcomes if isinstance(found, Refused)]

    assert live <= 4
    assert len(codes) == REPEATS
    assert codes.count(429) == REPEATS - 3
    assert codes.count(503) == 3  # who was in the line when the service stopped


def test_the_same_question_waits_for_the_one_that_runs_and_others_pass_it():
    queue: Queue[str] = Queue(most=10, each=3)
    for item in ("same", "same", "other"):
        queue.put("eve", item)
    running = {queue.take()}

    assert queue.take(lambda item: item not in running) == "other"
    assert queue.take(lambda item: item not in running) is None
    assert len(queue) == 1
    assert queue.take() == "same"


def test_who_leaves_the_line_keeps_the_place_of_the_others():
    queue: Queue[int] = Queue(most=10, each=10)
    for name, number in [("ada", 1), ("bob", 2), ("ada", 3), ("ada", 4)]:
        queue.put(name, number)

    assert queue.remove("ada", lambda number: number == 1) == [1]
    assert queue.remove("cyd", lambda number: True) == []
    assert (queue.of("ada"), queue.of("cyd")) == ([3, 4], [])
    assert [queue.take() for _ in range(3)] == [3, 2, 4]


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_a_nursery_that_is_closed_while_it_comes_up_leaves_no_process(rounds):
    """Several wait for their child; the first of them is about to start the nursery, or has just done so."""
    sleeps = [sys.executable, "-c", "import time; time.sleep(3600)"]
    started: list[asyncio.subprocess.Process] = []

    async def closed() -> tuple[list[object], list[int | None]]:
        nursery = Nursery(sleeps, memory=512, store="")
        start = nursery._start

        async def noted() -> None:
            await start()
            assert nursery._process is not None
            started.append(nursery._process)

        nursery._start = noted
        waits = [asyncio.ensure_future(nursery.child()) for _ in range(3)]
        for _ in range(rounds):
            await asyncio.sleep(0)
        await asyncio.wait_for(nursery.close(), 60)
        found = await asyncio.wait_for(asyncio.gather(*waits, return_exceptions=True), 60)
        codes = [process.returncode for process in started]
        for process in started:  # those of a twin that leaves them
            if process.returncode is None:
                process.kill()
                await process.wait()
        return list(found), codes

    found, codes = asyncio.run(closed())

    assert all(isinstance(one, Stillborn | OSError) for one in found), found
    assert codes == [-signal.SIGKILL] * len(codes)
    assert len(codes) <= 1


ROWS_FIRST = """
[tables.aaa]
source = "visits.parquet"

[tables.aaa.columns]
age = { type = "integer", low = 0, high = 119 }
"""
FIRST = """
import sys
from pathlib import Path
from discreet.curator.curator import Curator
from discreet.service.running import child, nursery

path = Path(sys.argv[1])
nursery.warm(path, 512)
loaded = set(sys.modules)
curator = Curator.open(path, verify=False)
for name in ("aaa", "visits"):
    curator.tables[name] = child.on_one_thread(curator.tables[name], 512)
    curator.ask(f"SELECT COUNT(*) AS n FROM {name}", epsilon=1)
late = {name for name in set(sys.modules) - loaded if name.startswith(("discreet.data", "numba", "llvmlite"))}
print(sorted(late))
"""


def test_what_reads_rows_is_loaded_before_there_are_children_whichever_table_is_declared_first(tmp_path):
    """Otherwise the first question of every child loads compiled code in its slot, and is withheld."""
    file = written(tmp_path)
    head, _, tables = file.read_text().partition("[tables.visits]")
    file.write_text(head + ROWS_FIRST + "\n[tables.visits]" + tables)

    done = subprocess.run([sys.executable, "-c", FIRST, str(file)], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
