"""discreet.synthesis: what is chosen and measured, what reaches the output, and how good it is."""

import copy
import itertools
import json
import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.data import Boolean, Domain, Integer, Records
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.privacy.guarantee import ZCDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.release.models.estimate import estimate
from discreet.synthesis import Synthesizer, singles
from discreet.synthesis.adaptive import Adaptive, candidates
from discreet.synthesis.resolution import tables
from discreet.synthesis.stored import load_progress
from tests.scale import counts

BITS = dc.Domain({name: dc.Boolean() for name in "abcd"})
MIXED = dc.Domain({"age": dc.Integer(0, 59), "ward": dc.Categorical(list("pqr")), "icu": dc.Boolean()})
PAIRS = counts(quick=24, full=1000)


def linked(n, *, seed):
    """Four bits: b copies a but for one in ten, c and d are their own."""
    rng = np.random.default_rng(seed)
    a, c, d = rng.random((3, n)) < np.array([[0.4], [0.7], [0.2]])
    return Records(
        BITS, [a.astype(int), np.where(rng.random(n) < 0.1, ~a, a).astype(int), c.astype(int), d.astype(int)]
    )


def distance(left, right, names):
    x, y = left.marginal(names) / len(left), right.marginal(names) / len(right)
    return 0.5 * np.abs(x - y).sum()


def patients(n, *, seed):
    rng = np.random.default_rng(seed)
    frame = {"age": rng.integers(0, 60, n), "ward": rng.choice(list("pqr"), n), "icu": rng.random(n) < 0.1}
    return pd.DataFrame(frame)


@pytest.mark.parametrize("budget", [dc.ApproxDP(2.0, 1e-6), dc.ZCDP(0.2), dc.PureDP(4.0)])
def test_linked_columns_stay_linked(budget):
    data = linked(5000, seed=1)
    made = Synthesizer(BITS, budget=budget).fit(data, rng=SeededRandom(1))
    rows = made.model.sample(5000, rng=SeededRandom(2))
    alone = Synthesizer(BITS, budget=budget, method="independent").fit(data, rng=SeededRandom(1)).model.sample(5000)

    assert ("a", "b") in made.progress.chosen
    assert distance(rows, data, ["a", "b"]) < 0.05
    assert distance(alone, data, ["a", "b"]) > 0.3
    assert made.privacy().neighbours is AddRemove


def test_a_tree_joins_every_two_columns_by_one_path():
    made = Synthesizer(BITS, budget=dc.ZCDP(1.0), method="tree").fit(linked(3000, seed=3), rng=SeededRandom(1))

    assert len(made.progress.chosen) == 3
    group = {name: {name} for name in "abcd"}
    for one, other in made.progress.chosen:
        assert other not in group[one]
        both = group[one] | group[other]
        group.update(dict.fromkeys(both, both))
    assert ("a", "b") in made.progress.chosen


def test_a_row_moves_every_score_by_at_most_its_weight():
    """One row added (or replaced) on 300 random tables; a twin whose model follows the data would exceed it."""
    synthesizer = Synthesizer(MIXED, budget=dc.ZCDP(0.1))
    weights = synthesizer.weights
    rng = np.random.default_rng(5)
    largest = twin = 0
    for seed in range(60):
        rows = Records.random(MIXED, 40, seed=seed)
        more = Records(MIXED, [np.append(rows.column(c), rng.integers(0, MIXED[c].size)) for c in MIXED])
        measured = singles.measured(synthesizer.singles, rows, rng=SeededRandom(seed))
        fitted = estimate(MIXED, measured, total=40.0)
        rounds = Adaptive(domain=MIXED, weights=weights, schedule=synthesizer.schedule)
        pool = tables(MIXED, weights, {name: fitted.model.marginal([name]) for name in MIXED})
        before, after = (np.array(rounds.scores(pool, data, fitted.model)) for data in (rows, more))
        scale = np.array([weights[table.columns] for table in pool])
        largest = max(largest, (np.abs(after - before) / scale).max())
        other = estimate(MIXED, singles.measured(synthesizer.singles, more, rng=SeededRandom(seed)), total=41.0)
        twin = max(twin, (np.abs(np.array(rounds.scores(pool, more, other.model)) - before) / scale).max())

    assert largest == 1
    assert twin > 1
    assert synthesizer.schedule.choice.sensitivity == max(weights.values())


@pytest.mark.parametrize(("n", "rows_per_unit"), [(None, 1), (None, 3), (500, 1), (500, 3)])
def test_sensitivities_grow_with_the_rows_of_a_unit_and_for_replaced_rows(n, rows_per_unit):
    one = Synthesizer(MIXED, budget=dc.ZCDP(0.1), n=n, rows_per_unit=rows_per_unit)
    base = Synthesizer(MIXED, budget=dc.ZCDP(0.1))
    factor = rows_per_unit * (math.sqrt(2) if n else 1)

    assert float(one.schedule.noise.sigma) == pytest.approx(factor * float(base.schedule.noise.sigma))
    assert one.schedule.choice.sensitivity == rows_per_unit * (2 if n else 1) * base.schedule.choice.sensitivity
    assert one.singles.budget.rho == pytest.approx(float(base.singles.budget.rho) / rows_per_unit**2)
    assert one.privacy().neighbours is (Replace if n else AddRemove)


def changed(frame, kind, rng):
    """A neighbour: an outlier, a category never seen, a duplicate, or a row less."""
    extra = {
        "outlier": {"age": 10**6, "ward": "p", "icu": False},
        "category": {"age": 3, "ward": "nowhere", "icu": True},
        "duplicate": frame.iloc[int(rng.integers(len(frame)))].to_dict(),
    }
    if kind == "less":
        return frame.drop(index=frame.index[int(rng.integers(len(frame)))])
    return pd.concat([frame, pd.DataFrame([extra[kind]])], ignore_index=True)


class Tape:
    """What the mechanisms of a run released, with how they were called, to be played back in another run."""

    def __init__(self):
        self.released, self.calls, self.playing, self.inside = [], [], None, False

    def replayed(self):
        self.playing, self.calls = iter(self.released), []

    def through(self, real, *, whole=False):
        """`real` with its outputs recorded, or played back; what runs inside a whole is part of it."""

        def call(mechanism, value, *, rng=None):
            if self.inside:
                return real(mechanism, value, rng=rng)
            self.calls.append((repr(mechanism), type(value).__name__ if whole else np.shape(value)))
            if self.playing is not None:
                return copy.copy(next(self.playing))
            self.inside = whole
            self.released.append(real(mechanism, value, rng=rng))
            self.inside = False
            return copy.copy(self.released[-1])

        return call


def test_with_the_same_mechanism_outputs_neighbours_give_the_same_synthetic_data(monkeypatch):
    """Record what the mechanisms released on D and replay it on D': everything else must be equal."""
    synthesizer = Synthesizer(MIXED, budget=dc.ZCDP(0.05), rounds=3)
    rng = np.random.default_rng(7)
    differences = 0
    for number, kind in zip(range(PAIRS), itertools.cycle(["outlier", "category", "duplicate", "less"])):
        frame, tape = patients(80, seed=number), Tape()
        with monkeypatch.context() as patched:
            patched.setattr(Exponential, "__call__", tape.through(Exponential.__call__))
            patched.setattr(Gaussian, "__call__", tape.through(Gaussian.__call__))
            patched.setattr(singles, "measured", tape.through(singles.measured, whole=True))
            first = synthesizer.fit(frame, rng=SeededRandom(number))
            called = tape.calls
            tape.replayed()
            second = synthesizer.fit(changed(frame, kind, rng), rng=SeededRandom(number))
        same = first.sample(30, rng=SeededRandom(1)).equals(second.sample(30, rng=SeededRandom(1)))
        differences += not (same and called == tape.calls and len(called) == 7 and first.rows == second.rows)

    assert differences == 0


def test_the_number_of_rows_is_the_noisy_one():
    frame = patients(1000, seed=1)
    totals = {Synthesizer(MIXED, budget=dc.ZCDP(0.001)).fit(frame, rng=SeededRandom(seed)).rows for seed in range(8)}

    assert len(totals) > 5  # n copied from the table would be one number
    assert all(abs(total - 1000) < 400 for total in totals)


def test_values_never_seen_can_occur_and_values_not_declared_cannot():
    frame = pd.DataFrame({"age": [5] * 300 + [4000], "ward": ["p"] * 300 + ["elsewhere"], "icu": [True] * 301})
    rows = Synthesizer(MIXED, budget=dc.ZCDP(0.0005)).fit(frame, rng=SeededRandom(3)).sample(4000).to_pandas()

    assert len(set(rows["ward"])) > 1  # the data have one
    assert set(rows["ward"]) <= set("pqr")
    assert rows["age"].between(0, 59).all()
    assert rows["age"].nunique() > 1


def test_impossible_combinations_do_not_occur():
    barred = np.zeros((3, 2), dtype=bool)
    barred[0, 1] = True  # nobody of ward p is in intensive care
    zeros = {("ward", "icu"): barred}
    rows = Synthesizer(MIXED, budget=dc.ZCDP(0.01), zeros=zeros).fit(patients(500, seed=2)).sample(3000).to_pandas()

    assert not ((rows["ward"] == "p") & rows["icu"]).any()
    assert ((rows["ward"] == "q") & rows["icu"]).any()


def test_a_stopped_run_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    data, file = linked(2000, seed=4), tmp_path / "run.json"
    synthesizer = Synthesizer(BITS, budget=dc.ZCDP(0.5), rounds=6)
    whole = synthesizer.fit(data, rng=SeededRandom(9), checkpoint=tmp_path / "whole.json")

    class Stop(Exception):
        pass

    real = Adaptive._measure
    done = itertools.count()

    def stopping(self, table, rows, rng):
        if next(done) == 3:
            raise Stop
        return real(self, table, rows, rng)

    with monkeypatch.context() as patched:
        patched.setattr(Adaptive, "_measure", stopping)
        with pytest.raises(Stop):
            synthesizer.fit(data, rng=SeededRandom(9), checkpoint=file)
    saved = json.loads(file.read_text())
    again = synthesizer.fit(data, rng=SeededRandom(11), checkpoint=file)

    assert saved["rounds"] == 3
    assert again.progress.rounds == whole.progress.rounds == 6
    kept = zip(again.progress.measurements[:7], whole.progress.measurements[:7], strict=True)
    assert all(np.allclose(one.values, other.values) for one, other in kept)  # nothing is measured again
    with pytest.raises(ParameterError, match="another domain, budget or schedule"):
        Synthesizer(BITS, budget=dc.ZCDP(0.6), rounds=6).fit(data, checkpoint=file)
    with pytest.raises(ParameterError, match="another domain, budget or schedule"):
        Synthesizer(BITS, budget=dc.ZCDP(0.5), rounds=6, rows_per_unit=2).fit(data, checkpoint=file)
    file.write_text("{}")
    with pytest.raises(ParameterError, match="not a checkpoint"):
        synthesizer.fit(data, checkpoint=file)


@pytest.mark.parametrize("method", ["adaptive", "tree", "independent", "mwem"])
@pytest.mark.parametrize("kind", [dc.PureDP, dc.ZCDP])
def test_a_budget_is_refused_at_once_or_is_enough_for_a_fit(kind, method):
    """No budget, however small, gets through the constructor and fails when it is spent."""
    data, made, refused = linked(50, seed=1), 0, 0
    for exponent in (1, 8, 10, 11, 13, 16, 18, 20, 24, 25, 40, 160, 310, 400):
        for rows in (1, 1000):
            budget = kind(f"1e-{exponent}")
            try:
                synthesizer = Synthesizer(BITS, budget=budget, method=method, rounds=1, rows_per_unit=rows)
            except UnsupportedError:
                refused += 1
                continue
            made += synthesizer.fit(data, rng=SeededRandom(1)).sample(3).num_rows == 3

    assert made >= 4
    assert refused == 28 - made


def edited(text):
    """Copies of a checkpoint, each with one thing changed by hand."""
    first, *others = text["measurements"]
    flat, *_ = first["values"]
    return [
        *(text | {"rounds": rounds} for rounds in (-20, 0, 1, 3, 99, 2.0, True, None, "2")),
        text | {"chosen": text["chosen"][:1]},
        text | {"chosen": [["a", "nobody"], text["chosen"][1]]},
        text | {"chosen": text["chosen"][::-1]},
        text | {"measurements": others},
        text | {"measurements": text["measurements"][:-1]},
        text | {"measurements": [first, *text["measurements"]]},
        text | {"measurements": [first | {"values": [math.nan, *first["values"][1:]]}, *others]},
        text | {"measurements": [first | {"values": [flat], "shape": [1]}, *others]},
        text | {"measurements": [first | {"sd": 0.0}, *others]},
        text | {"measurements": [first | {"bins": [[0, 7]]}, *others]},
        text | {"fitting": -1000.0},
        text | {"fitting": math.nan},
    ]


def test_an_edited_checkpoint_is_refused_before_a_row_is_read(tmp_path, monkeypatch):
    """A number of rounds that is too small would buy rounds that nobody paid for."""
    file = tmp_path / "run.json"
    synthesizer = Synthesizer(BITS, budget=dc.ZCDP(0.5), rounds=2)
    synthesizer.fit(linked(500, seed=4), rng=SeededRandom(9), checkpoint=file)
    text = json.loads(file.read_text())
    assert load_progress(file, synthesizer).rounds == 2

    def never(*given, **more):
        raise AssertionError("a row was read")

    with monkeypatch.context() as patched:
        patched.setattr(Synthesizer, "_encoded", never)
        for bad in edited(text):
            file.write_text(json.dumps(bad))
            with pytest.raises(ParameterError, match="checkpoint"):
                synthesizer.fit(linked(500, seed=4), checkpoint=file)


def test_time_and_memory_are_bounded():
    data = linked(500, seed=6)
    short = Synthesizer(BITS, budget=dc.ZCDP(0.5), time_limit=1e-9).fit(data)
    wide = dc.Domain({f"c{i}": dc.Integer(0, 9) for i in range(8)})
    small = Synthesizer(wide, budget=dc.ZCDP(5.0), cells=2000, workload=dc.marginals(wide, 3)).fit(
        Records.random(wide, 3000, seed=1), rng=SeededRandom(1)
    )

    assert short.progress.rounds == 0
    assert small.model.size <= 2000


def test_memory_in_bytes_bounds_the_model_and_the_counts():
    """What numpy allocates in a fit, besides the rows; a twin that keeps all tables of counts takes more."""
    wide = dc.Domain({f"c{i}": dc.Integer(0, 39) for i in range(12)})
    data = Records.random(wide, 2000, seed=1)
    given = {"budget": dc.ZCDP(50.0), "rounds": 2, "workload": dc.marginals(wide, 3)}
    Synthesizer(wide, budget=dc.ZCDP(5.0), rounds=2).fit(data, rng=SeededRandom(1))  # compiled code is loaded
    taken = []
    for more in ({"memory": 1 << 26, "cells": 10**8}, {"cells": 100_000}):
        tracemalloc.start()
        made = Synthesizer(wide, **given, **more).fit(data, rng=SeededRandom(1))
        taken.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert made.progress.rounds == 2

    assert taken[0] <= 1 << 26
    assert taken[1] > 1 << 26


def test_the_time_limit_counts_no_time_in_which_rows_are_looked_at(monkeypatch):
    """Counting that takes an hour by the clock ends no rounds; a fit that does ends them."""
    clock = itertools.count()
    monkeypatch.setattr("discreet.synthesis.adaptive.time.monotonic", lambda: float(next(clock)))
    real = Records.marginal

    def slow(self, names):
        for _ in range(3600):
            next(clock)
        return real(self, names)

    monkeypatch.setattr(Records, "marginal", slow)
    made = Synthesizer(BITS, budget=dc.ZCDP(0.5), rounds=4, time_limit=100).fit(linked(300, seed=1))
    brief = Synthesizer(BITS, budget=dc.ZCDP(0.5), rounds=4, time_limit=2).fit(linked(300, seed=1))

    assert made.progress.rounds == 4
    assert brief.progress.rounds == 1


def test_a_checkpoint_belongs_to_its_intervals(tmp_path):
    file = tmp_path / "run.json"
    narrow, wide = (dc.Domain({"pay": dc.Integer(0, most)}) for most in (999, 999_999))
    Synthesizer(narrow, budget=dc.ZCDP(0.5)).fit(Records.random(narrow, 50, seed=1), checkpoint=file)

    with pytest.raises(ParameterError, match="another domain, budget or schedule"):
        Synthesizer(wide, budget=dc.ZCDP(0.5)).fit(Records.random(wide, 50, seed=1), checkpoint=file)


def test_candidates_are_all_parts_of_the_workload():
    found = candidates(MIXED, [("icu", "age", "ward")])

    assert found == {("age", "ward"): 2, ("age", "icu"): 2, ("ward", "icu"): 2, ("age", "ward", "icu"): 3}


def test_files_hold_the_sampled_rows(tmp_path):
    made = Synthesizer(MIXED, budget=dc.ZCDP(0.1)).fit(patients(200, seed=1), rng=SeededRandom(1))
    made.write(tmp_path / "people.parquet", 50)
    made.write(tmp_path / "people.csv", 50)

    assert len(pd.read_parquet(tmp_path / "people.parquet")) == len(pd.read_csv(tmp_path / "people.csv")) == 50
    with pytest.raises(ParameterError, match=r"\.parquet or \.csv"):
        made.write(tmp_path / "people.txt", 50)


def test_bad_settings_are_refused_before_anything_is_read():
    for bad in (
        {"method": "gan"},
        {"rows_per_unit": 0},
        {"cells": 1.5},
        {"time_limit": 0},
        {"time_limit": "long"},
        {"time_limit": math.nan},
        {"rounds": -1},
        {"rounds": "many"},
        {"rounds": [1]},  # times the cells of a model it would be a list of that length
        {"rounds": True},
        {"memory": 100},
        {"bins": 8},
        {"bins": ["age"]},
        {"most": True},
        {"zeros": "age"},
    ):
        with pytest.raises(ParameterError):
            Synthesizer(MIXED, budget=dc.ZCDP(0.1), **bad)
    with pytest.raises(UnsupportedError, match="set of marginals"):
        Synthesizer(dc.queries.thresholds(8).domain, budget=dc.ZCDP(0.1), workload=dc.queries.thresholds(8))


@pytest.mark.parametrize("method", ["adaptive", "tree", "mwem"])
@pytest.mark.parametrize("budget", [PureDP(700), PureDP(2000), PureDP(5000), PureDP(10**6), ZCDP(10**6)], ids=repr)
def test_noise_that_vanishes_leaves_the_tables_themselves(method, budget):
    """From 700 on weights 1 / sd^2 left the floats: a share of .70 came out as 1.0, and then a division by 0."""
    draw = np.random.default_rng(3)
    first = (draw.random(4000) < 0.7).astype(np.int64)
    rows = Records(
        Domain({"a": Boolean(), "b": Integer(0, 3)}), [first, (first + draw.integers(0, 3, 4000)).astype(np.int64)]
    )
    made = Synthesizer(rows.domain, budget=budget, method=method).fit(rows, rng=SeededRandom(1))

    for names in (("a",), ("b",), ("a", "b")):
        assert np.abs(made.model.marginal(names) - rows.marginal(names)).max() < 0.5
