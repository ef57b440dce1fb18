"""discreet.curator.synthesis_run: synthetic data through the curator, in the order of a question."""

from __future__ import annotations

import itertools
import json
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from discreet.curator import Curator
from discreet.curator.synthesis_run import ordered
from discreet.data import Boolean, Categorical, Domain, Identifier, Integer, Real, Records, Table, Text
from discreet.data.engines import semantics
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.tables_of_counts import TablesOfCounts
from discreet.errors import BudgetExhausted, DiscreetError, DomainError, LedgerError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.ledger import Ledger
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.queries import Dense, marginals
from discreet.release.reading import Reading, positions
from discreet.synthesis import Synthesizer, Synthetic, singles
from discreet.synthesis.adaptive import Adaptive
from discreet.synthesis.encoding import Encoding
from discreet.synthesis.stored import from_bytes, to_bytes
from tests.curator.test_curator import Watched
from tests.synthesis.test_synthesizer import Tape

COLUMNS = ["ward", "readmitted"]
PEOPLE = Domain({"ward": Categorical(["cardiology", "oncology", "surgery"]), "readmitted": Boolean()})


def spends(ledger) -> list[dict]:
    return [entry.record for entry in ledger.entries() if entry.record["kind"] == "spend"]


def made(curator, **given) -> Synthetic:
    price = {} if "budget" in given else {"epsilon": "1/4"}
    return curator.synthesize(table="visits", **({"columns": COLUMNS} | price | given))


def test_rows_have_the_declared_types_and_look_like_the_table(curator, rows):
    people = curator.synthesize(table="visits", budget=ApproxDP(1, 1e-6)).sample(4000, rng=SeededRandom(2)).to_pandas()
    truth = rows.to_pandas()

    assert list(people) == ["ward", "age", "cost", "readmitted"]  # the unit is left out
    assert set(people["ward"]) <= {"cardiology", "oncology", "surgery"}
    assert people["age"].between(0, 119).all()
    assert people["cost"].between(0, 5000).all()
    for column in COLUMNS:
        shares, exact = (frame[column].value_counts(normalize=True) for frame in (people, truth))
        assert shares.sub(exact, fill_value=0).abs().max() < 0.05


def test_the_promise_is_for_one_unit_added_or_removed_and_is_in_the_ledger(curator, ledger):
    pure, concentrated = made(curator), made(curator, budget=ApproxDP("1/4", 1e-7))
    first, second = spends(ledger)

    assert pure.privacy() == PureDP("1/4", neighbours=AddRemove)
    assert isinstance(concentrated.privacy(), ZCDP)
    assert concentrated.privacy().to_approx(1e-7) <= ApproxDP("1/4", 1e-7, neighbours=AddRemove)
    assert first["price"]["epsilon"] == "1/4"
    assert second["price"]["rho"] == str(concentrated.receipt.price.rho)  # type: ignore[union-attr]
    assert first["unit"] == "patient"
    assert first["query"] == (
        "SYNTHESIZE visits BY adaptive; PureDP(epsilon=0.25) for one patient with at most 2 rows added or removed;"
        " ward, readmitted"
    )


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("1/10")], ids=repr)
def test_noise_is_for_all_rows_of_a_unit_and_the_budget_is_not_divided_again(rows, visits, ledger, budget, k):
    """The sensitivity of k rows at the whole budget; twins with the noise of one row, or of k^2, differ."""
    table = Table(rows, domain=visits.domain, unit="patient", rows_per_unit=k)
    curator = Curator({"visits": table}, budget=ZCDP(9), ledger=ledger, rng=SeededRandom(1))
    found = made(curator, budget=budget).schedule
    one = Synthesizer(PEOPLE, budget=budget).schedule
    noise = {PureDP: "scale", ZCDP: "sigma"}[type(budget)]

    assert float(getattr(found.noise, noise)) == pytest.approx(k * float(getattr(one.noise, noise)))
    assert found.choice.sensitivity == k * one.choice.sensitivity
    assert found.choice.epsilon == one.choice.epsilon


@pytest.mark.parametrize("whole", [True, False], ids=["cells", "rows"])
def test_a_unit_moves_what_is_fitted_by_at_most_its_rows(ledger, monkeypatch, whole):
    """With and without a unit; a twin that keeps all rows moves by more."""
    if not whole:
        monkeypatch.setattr("discreet.release.reading.LISTED", 0)
    chance = np.random.default_rng(1)
    frame = pd.DataFrame({"who": chance.integers(0, 30, 400), "a": chance.integers(0, 4, 400)})
    frame["b"] = chance.random(400) < 0.5
    domain = Domain({"who": Identifier(), "a": Integer(0, 3), "b": Boolean()})
    seen, fit = [], Synthesizer.fit

    def noting(self, data, *, rng=None, **more):
        seen.append(data.marginal(["a", "b"]))
        return fit(self, data, rng=rng, **more)

    monkeypatch.setattr(Synthesizer, "fit", noting)
    for k in (3, 400):
        for part in (frame, frame[frame["who"] != 0]):
            table = Table(part, domain=domain, unit="who", rows_per_unit=k)
            curator = Curator({"t": table}, budget=ZCDP(9), ledger=ledger, rng=SeededRandom(1))
            curator.synthesize(table="t", epsilon="1/4", method="independent", fresh=True)
    everyone, without, unbounded, twin = seen

    assert (everyone - without).min() >= 0
    assert (everyone - without).sum() == 3
    assert (unbounded - twin).sum() > 3


def test_rows_and_cells_are_the_same_rows(visits, ledger, monkeypatch):
    """An engine that counts cells and one that reads rows give the same model."""
    found = []
    for cells in (1 << 22, 0):
        monkeypatch.setattr("discreet.release.reading.LISTED", cells)
        curator = Curator({"visits": visits}, budget=PureDP(9), ledger=ledger, rng=SeededRandom(1))
        found.append(to_bytes(made(curator, fresh=True)))

    assert found[0] == found[1]


def test_tables_that_an_engine_counts_are_those_of_the_rows_in_intervals(rows, visits, ledger):
    """Of columns with and without NULL, cut or not; a twin whose intervals begin one value later differs."""
    nullable = {"age": Integer(0, 119, nullable=True), "cost": Real(0, 5000, step="0.01", nullable=True)}
    domain = Domain(dict(visits.domain) | nullable)
    frame = rows.to_pandas()
    frame.loc[frame.index % 7 == 0, ["age", "cost"]] = None
    table = Table(frame, domain=domain, unit="patient")
    columns = domain.project(["ward", "age", "cost", "readmitted"])
    encoding = Encoding(columns, bins={"cost": 17}, most=64)
    pairs = list(itertools.combinations(columns, 2))
    counts = TablesOfCounts(table, pairs, domain=encoding.coarse, engine=Watched(ledger), cuts=encoding.cuts)
    truth = encoding.encode(Records.from_frame(frame, columns))
    shifted = encoding.encode(Records.from_frame(frame.assign(age=frame["age"] + 1), columns))

    assert encoding.cuts == {"age": 64, "cost": 17}
    for pair in pairs:
        assert (counts.marginal(pair) == truth.marginal(pair)).all()
    assert (counts.marginal(("age",)) != shifted.marginal(["age"])).any()


def test_another_engine_makes_the_same_model_of_a_wide_table(rows, visits, ledger, monkeypatch):
    """Nobody has more rows than are kept, so that every table counts them all, whether it reads rows or tables."""
    monkeypatch.setattr("discreet.release.reading.LISTED", 0)
    found, engine = [], Watched(ledger)
    for held in ({}, {"engine": engine}):
        curator = Curator({"visits": visits}, budget=ZCDP(9), ledger=ledger, rng=SeededRandom(1), **held)
        asked = {"columns": ["ward", "age", "cost"], "budget": ZCDP("1/10"), "rounds": 3, "fresh": True}
        found.append(to_bytes(made(curator, **asked)))

    assert found[0] == found[1]
    assert engine.spends_seen
    assert min(engine.spends_seen) == 2  # paid for before the first pass


@pytest.mark.parametrize("whole", [True, False], ids=["cells", "rows"])
def test_the_ledger_is_charged_before_a_row_is_read(visits, ledger, monkeypatch, whole):
    engine, read, seen = Watched(ledger), positions.positions, []
    if not whole:
        monkeypatch.setattr("discreet.release.reading.LISTED", 0)

    def noting(*given, **more):
        seen.append(len(spends(ledger)))
        return read(*given, **more)

    monkeypatch.setattr(positions, "positions", noting)
    held = {"engine": engine} if whole else {}
    curator = Curator({"visits": visits}, budget=PureDP(1), ledger=ledger, rng=SeededRandom(1), **held)
    made(curator)
    with pytest.raises(BudgetExhausted):
        made(curator, epsilon=2)

    assert engine.spends_seen + seen == [1]


def test_a_failed_run_is_still_paid_for_and_says_nothing(curator, ledger, monkeypatch):
    def leaky(self, data, **more):
        raise ParameterError(f"there are {len(data)} rows")

    monkeypatch.setattr(Synthesizer, "fit", leaky)
    for times in (1, 2):  # not stored: a second run is a second release
        with pytest.raises(DiscreetError, match=r"^the run failed; see the operator log, reference [0-9a-f]{8}$"):
            made(curator)
        assert len(spends(ledger)) == times


@pytest.mark.parametrize("count", [0, 1])
def test_an_empty_table_is_no_failure(rows, visits, ledger, count):
    """A failure where nobody is in the table would tell so."""
    table = Table(rows.slice(0, count), domain=visits.domain, unit="patient", rows_per_unit=2)
    curator = Curator({"visits": table}, budget=ZCDP(9), ledger=ledger, rng=SeededRandom(1))

    assert curator.synthesize(table="visits", budget=ZCDP("1/10")).sample(20).num_rows == 20


def test_the_same_order_is_free_and_the_same_model(visits, tmp_path):
    """Also from another curator on the same ledger, and whatever number of rows is wanted."""
    path = tmp_path / "ledger.db"
    with Ledger.open(path, testing=True) as ledger:
        first = made(Curator({"visits": visits}, budget=PureDP(1), ledger=ledger, rng=SeededRandom(1)), analyst="ada")
    with Ledger.open(path, testing=True) as ledger:
        other = Curator({"visits": visits}, budget=PureDP(1), ledger=ledger, rng=SeededRandom(2))
        again = made(other, analyst="ada", rows=50)
        paid = len(spends(ledger))

    assert paid == 1
    assert not first.receipt.replayed  # type: ignore[union-attr]
    assert again.receipt.replayed  # type: ignore[union-attr]
    assert to_bytes(first) == to_bytes(again)
    assert again.sample(rng=SeededRandom(3)).equals(first.sample(50, rng=SeededRandom(3)))
    assert again.privacy() == first.privacy()
    assert again.schedule == first.schedule
    assert str(again.report()) == str(first.report())


@pytest.mark.parametrize(
    "other",
    [
        {"fresh": True},
        {"analyst": "bob"},
        {"epsilon": "1/8"},
        {"columns": ["ward"]},
        {"method": "tree"},
        {"cells": 2000},
        {"rounds": 3},
        {"memory": 1 << 26, "cells": 10_000_000},
        {"method": "mwem"},
        {"time_limit": 60.0},
        {"zeros": {("ward", "readmitted"): np.eye(3, 2, dtype=bool)}},
    ],
    ids=lambda other: "-".join(other),
)
def test_another_order_is_paid_for(curator, ledger, other):
    first, second = made(curator), made(curator, **other)

    assert len(spends(ledger)) == 2
    assert to_bytes(first) != to_bytes(second)


class Stop(Exception):
    """A run that was killed."""


def stopped_after(monkeypatch, rounds):
    """Runs end in the middle of a round, the others as usual."""
    real, done = Adaptive._measure, itertools.count()

    def stopping(self, table, rows, rng):
        if next(done) == rounds:
            raise Stop
        return real(self, table, rows, rng)

    monkeypatch.setattr(Adaptive, "_measure", stopping)


def test_a_stopped_run_goes_on_under_the_charge_that_paid_for_it(curator, ledger, tmp_path, monkeypatch):
    """Nothing that was measured is measured again and nothing is paid again; without its file it would be."""
    file = tmp_path / "run.json"
    with monkeypatch.context() as patched:
        stopped_after(patched, 3)
        with pytest.raises(DiscreetError, match="the run failed"):
            made(curator, checkpoint=file, analyst="ada")
    saved = json.loads(file.read_text())
    for other in ({"epsilon": "1/8"}, {"analyst": "bob"}, {"fresh": True}, {"columns": ["ward"]}):
        with pytest.raises(ParameterError, match="paid for by another order"):
            made(curator, **({"checkpoint": file, "analyst": "ada"} | other))
    assert len(spends(ledger)) == 1
    found = made(curator, checkpoint=file, analyst="ada")
    assert len(spends(ledger)) == 1
    again = made(curator, analyst="ada")
    made(curator, checkpoint=str(file), analyst="ada")

    assert saved["rounds"] == 3
    assert len(spends(ledger)) == 1
    assert not file.exists()
    assert to_bytes(again) == to_bytes(found)
    assert found.progress.rounds == found.schedule.rounds == 8
    kept = zip(saved["measurements"], found.progress.measurements, strict=False)
    assert all(np.allclose(np.ravel(one.values), before["values"]) for before, one in kept)
    with monkeypatch.context() as patched:
        stopped_after(patched, 3)
        with pytest.raises(DiscreetError, match="the run failed"):
            made(curator, analyst="eve")
    made(curator, analyst="eve")
    assert len(spends(ledger)) == 3  # the twin without a file: a second run is a second release


def test_a_checkpoint_of_nobody_pays_for_nothing(curator, ledger, tmp_path):
    """One that a synthesizer wrote without a curator, however well it fits, and one with a charge made up."""
    file = tmp_path / "run.json"
    order = {"columns": COLUMNS, "epsilon": "1/4"}
    made_here = ordered(curator, table="visits", **order).synthesizer
    made_here.fit(Records.random(made_here.domain, 50, seed=1), rng=SeededRandom(1), checkpoint=file)
    for mark in (None, "ab" * 32):
        file.write_text(json.dumps(json.loads(file.read_text()) | {"mark": mark}))
        with pytest.raises(ParameterError, match="paid for by another order"):
            made(curator, checkpoint=file)
    file.write_text("[]")
    with pytest.raises(ParameterError, match="not a checkpoint"):
        made(curator, checkpoint=file)

    assert spends(ledger) == []


def test_an_edited_checkpoint_is_refused_and_pays_for_nothing(curator, ledger, tmp_path, monkeypatch):
    """The rounds that were paid for were eight: a file that tells of fewer than it holds would draw more."""
    file = tmp_path / "run.json"
    with monkeypatch.context() as patched:
        stopped_after(patched, 3)
        with pytest.raises(DiscreetError, match="the run failed"):
            made(curator, checkpoint=file)
    saved = file.read_text()
    drawn = itertools.count()
    with monkeypatch.context() as patched:
        patched.setattr(Adaptive, "_measure", lambda *given: next(drawn))
        patched.setattr(Reading, "through", lambda *given: next(drawn))
        for rounds in (-20, 0, 2, 4, 9, True):
            file.write_text(json.dumps(json.loads(saved) | {"rounds": rounds}))
            with pytest.raises(ParameterError, match="was edited"):
                made(curator, checkpoint=file)
    assert len(spends(ledger)) == 1
    assert next(drawn) == 0
    file.write_text(saved)
    found = made(curator, checkpoint=file)

    assert found.progress.rounds == found.schedule.rounds == 8
    assert len(spends(ledger)) == 1


def test_an_explanation_reads_nothing_spends_nothing_and_tells_what_would_run(curator, ledger, monkeypatch):
    def never(*given, **more):
        raise AssertionError("a row was read")

    with monkeypatch.context() as patched:
        patched.setattr(Reading, "through", never)
        found = curator.explain_synthesis(table="visits", columns=COLUMNS, epsilon="1/4", n=10_000)
        with pytest.raises(DomainError, match="no table 'visit'"):
            curator.explain_synthesis(table="visit", epsilon=1)
        with pytest.raises(ParameterError, match="settings among"):
            curator.explain_synthesis(table="visits", epsilon=1, progress=True)

    assert spends(ledger) == []
    assert found.synthesizer.schedule == made(curator).schedule
    assert "PureDP(epsilon=0.25) for one unit of at most 2 rows" in str(found)


def test_progress_shows_the_rounds_and_nothing_else(curator, monkeypatch):
    seen = []

    @contextmanager
    def noting(rounds, *, shown):
        seen.append((rounds, shown))
        yield seen.append

    monkeypatch.setattr("discreet.synthesis.synthesizer.bar", noting)
    found = made(curator, progress=True)

    assert seen == [(8, True), *range(9)]
    assert found.schedule.rounds == 8


def test_mwem_is_stored_and_recalled_like_the_others(curator, ledger):
    first, again = (made(curator, method="mwem", budget=ApproxDP(1, 1e-7)) for _ in range(2))

    assert len(spends(ledger)) == 1
    assert to_bytes(first) == to_bytes(again)
    assert again.sample(10, rng=SeededRandom(1)).equals(first.sample(10, rng=SeededRandom(1)))
    assert str(again.report()) == str(first.report())


def test_the_number_of_rows_is_never_the_tables(rows, visits, ledger, monkeypatch):
    """What the mechanisms released on the table is played back on one without a patient: nothing else differs.

    Not even where the number of rows is declared: it is public, but the promise is for rows added or removed.
    """
    tape, stored = Tape(), []
    monkeypatch.setattr(Exponential, "__call__", tape.through(Exponential.__call__))
    monkeypatch.setattr(Gaussian, "__call__", tape.through(Gaussian.__call__))
    monkeypatch.setattr(singles, "measured", tape.through(singles.measured, whole=True))
    for part in (rows, rows.slice(1)):
        table = Table(part, domain=visits.domain, unit="patient", n=part.num_rows)
        curator = Curator({"visits": table}, budget=ZCDP(9), ledger=ledger, rng=SeededRandom(1))
        stored.append(made(curator, budget=ZCDP("1/1000"), fresh=True))
        tape.replayed()

    assert to_bytes(stored[0]) == to_bytes(stored[1])
    assert stored[0].rows == stored[1].rows
    assert stored[0].rows not in (10_000, 9_999)


def test_a_workload_names_the_columns_and_what_matters(curator):
    workload = marginals(PEOPLE, 2)
    found = curator.synthesize(table="visits", epsilon="1/4", workload=workload)

    assert list(found.encoding.domain) == COLUMNS
    assert len(found.answer(workload)) == 6


def test_what_cannot_be_made_is_refused_free(curator, visits, ledger):
    domain = Domain({"who": Integer(0, 9), "a": Boolean(), "note": Text(9)})
    frame = pd.DataFrame({"who": [1], "a": [True], "note": ["b"]})
    held = {"t": Table(frame, domain=domain, unit="who"), "gone": Table(frame[["who"]], domain=domain, unit="who")}
    notes = Curator(held, budget=PureDP(1), ledger=ledger, rng=SeededRandom(1))
    elsewhere = Curator({"visits": visits}, budget=ApproxDP(2.0, 1e-6), ledger=ledger, engine=Watched(ledger))
    bad = {("ward", "readmitted"): np.ones((2, 2), dtype=bool)}
    refused = [
        (DomainError, "no table 'visit'", lambda: curator.synthesize(table="visit", epsilon=1)),
        (DomainError, "no column 'x'", lambda: made(curator, columns=["x"])),
        (DomainError, "'note' is text", lambda: notes.synthesize(table="t", epsilon=1)),
        (DomainError, "'note' is text", lambda: notes.synthesize(table="t", epsilon=1, columns=["a", "note"])),
        (DomainError, "unit column 'who'", lambda: notes.synthesize(table="t", epsilon=1, columns=["who", "a"])),
        (DomainError, "no column 'a'", lambda: notes.synthesize(table="gone", epsilon=1, columns=["a"])),
        (UnsupportedError, "engine does not do", lambda: made(elsewhere, columns=["age", "cost"], method="mwem")),
        (UnsupportedError, "not under Replace", lambda: made(curator, budget=PureDP(1, neighbours=Replace))),
        (UnsupportedError, "PureDP, ApproxDP or ZCDP", lambda: made(curator, budget=GaussianDP(1))),
        (UnsupportedError, "set of marginals", lambda: made(curator, workload=Dense(np.ones((1, 6)), PEOPLE))),
        (DomainError, "different domains", lambda: made(curator, workload=marginals(PEOPLE, 1), columns=["ward"])),
        (ParameterError, "need a Workload", lambda: made(curator, workload="ward")),
        (ParameterError, "only one of them", lambda: curator.synthesize(table="visits")),
        (ParameterError, "epsilon > 0", lambda: made(curator, epsilon=0)),
        (UnsupportedError, "too small", lambda: made(curator, budget=PureDP("1e-16"))),
        (UnsupportedError, "too small", lambda: made(curator, budget=PureDP("1e-29"), method="mwem")),
        (UnsupportedError, "too small", lambda: made(curator, budget=ZCDP("1e-20"))),
        (UnsupportedError, "too small", lambda: made(curator, budget=ZCDP("1e-29"))),
        (ParameterError, "a method", lambda: made(curator, method="magic")),
        (ParameterError, "rows >= 1", lambda: made(curator, rows=0)),
        (ParameterError, "rows >= 1", lambda: made(curator, rows=True)),
        (ParameterError, "settings among", lambda: made(curator, rows_per_unit=1)),
        (ParameterError, "settings among", lambda: made(curator, n=10_000)),
        (ParameterError, "integer memory", lambda: made(curator, memory=1000)),
        (ParameterError, "a path", lambda: made(curator, checkpoint=7)),
        (ParameterError, "no checkpoint for mwem", lambda: made(curator, checkpoint="x", method="mwem")),
        (UnsupportedError, "lists all combinations", lambda: made(curator, cells=2, method="mwem")),
        (ParameterError, "booleans of shape", lambda: made(curator, zeros=bad)),
        (ParameterError, "time_limit > 0", lambda: made(curator, time_limit=float("nan"))),
    ]  # fmt: skip
    for kind, words, call in refused:
        with pytest.raises(kind, match=words):
            call()
    assert spends(ledger) == []


def test_rows_are_read_by_the_engine_that_was_given_once_it_passed_its_test(visits, ledger, monkeypatch):
    """Row by row, where there are too many cells to count."""
    monkeypatch.setattr("discreet.release.reading.LISTED", 1)
    seen, real, engine = set(), DuckDB._open, DuckDB(memory="1200MB", threads=1)
    curator = Curator({"visits": visits}, budget=PureDP(1), ledger=ledger, engine=engine, rng=SeededRandom(1))

    def noting(self):
        seen.add(self)
        return real(self)

    monkeypatch.setattr(DuckDB, "_open", noting)
    with monkeypatch.context() as patched:
        patched.setattr(semantics, "ASSUMED", (*semantics.ASSUMED, ("1 // 0 IS NULL", True)))
        with pytest.raises(UnsupportedError, match="1 // 0"):
            made(curator)
    refused = len(spends(ledger))
    made(curator)

    assert refused == 0
    assert len(spends(ledger)) == 1
    assert seen == {engine}


def test_a_public_table_needs_no_model(visits, ledger):
    wards = Table(pd.DataFrame({"ward": ["oncology"]}), domain=PEOPLE.project(["ward"]), unit=None, public=True)
    curator = Curator({"visits": visits, "wards": wards}, budget=PureDP(1), ledger=ledger)

    with pytest.raises(DomainError, match="nothing to protect"):
        curator.synthesize(table="wards", epsilon=1)


def test_seeded_noise_is_refused_by_a_real_ledger(visits):
    curator = Curator({"visits": visits}, budget=PureDP(1), ledger=":memory:", rng=SeededRandom(1))

    with pytest.raises(LedgerError, match="predictable"):
        made(curator)


def test_other_bytes_are_no_model(curator, visits):
    found = made(curator)
    other = Synthesizer(PEOPLE.project(["ward"]), budget=PureDP(1))

    with pytest.raises(ParameterError, match="another domain"):
        from_bytes(to_bytes(found), other)
    with pytest.raises(ParameterError, match="not a stored model"):
        from_bytes(b"something else", other)
    assert Reading(visits, PEOPLE, DuckDB()).counted  # the tests above count cells unless told otherwise
