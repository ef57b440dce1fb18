"""discreet.synthesis.adaptive: what a round looks at is public and bounded, and counted once."""

import itertools

import numpy as np

import discreet as dc
from discreet.data import Records
from discreet.hazmat.entropy import SeededRandom
from discreet.release.models.junction import junction_size
from discreet.synthesis import Synthesizer, adaptive
from discreet.synthesis.adaptive import Adaptive, Progress, candidates
from discreet.synthesis.resolution import tables

BITS = dc.Domain({f"c{i}": dc.Boolean() for i in range(8)})
PAIRS = list(itertools.combinations(BITS, 2))


def rounds_of(synthesizer):
    return Adaptive(domain=BITS, weights=synthesizer.weights, schedule=synthesizer.schedule, cells=synthesizer.cells)


def test_a_round_compares_a_bounded_number_of_sets_drawn_from_its_number_alone(monkeypatch):
    monkeypatch.setattr(adaptive, "COMPARED", 5)
    synthesizer = Synthesizer(BITS, budget=dc.ZCDP(0.5), rounds=12)
    pool = tables(BITS, synthesizer.weights, {name: np.ones(2) for name in BITS})
    looked = [
        {table.columns for table in rounds_of(synthesizer)._fitting(pool, Progress([], rounds=number))}
        for number in range(12)
    ]
    again = [
        {table.columns for table in rounds_of(synthesizer)._fitting(pool, Progress([], rounds=number))}
        for number in range(12)
    ]

    assert looked == again
    assert {len(found) for found in looked} == {5}
    assert len(set().union(*looked)) > 20  # of 28 pairs: no set is left out for ever
    made = synthesizer.fit(Records.random(BITS, 500, seed=1), rng=SeededRandom(1))
    assert all(columns in found for columns, found in zip(made.progress.chosen, looked, strict=True))


def test_every_set_that_fits_is_found_even_when_few_do(monkeypatch):
    monkeypatch.setattr(adaptive, "COMPARED", 5)
    domain = dc.Domain({"a": dc.Integer(0, 49), "b": dc.Integer(0, 49), **{f"c{i}": dc.Boolean() for i in range(4)}})
    synthesizer = Synthesizer(domain, budget=dc.ZCDP(0.5), cells=1000, rounds=2)
    pool = tables(domain, synthesizer.weights, {name: np.ones(domain[name].size) for name in domain})
    rounds = Adaptive(domain=domain, weights=synthesizer.weights, schedule=synthesizer.schedule, cells=1000)
    fits = {table.columns for table in rounds._fitting(pool, Progress([], rounds=0))}

    assert len(fits) == 5
    assert ("a", "b") not in fits
    assert all(junction_size(domain, [columns]) <= 1000 for columns in fits)


def test_remembered_tables_are_those_of_the_data():
    rows = Records.random(BITS, 300, seed=2)
    for room in (1 << 25, 40, 0):
        kept = adaptive._Remembered.of(rows, PAIRS, room=room)

        assert len(kept.tables) == min(len(PAIRS), room // 4)
        assert all(np.array_equal(kept.marginal(pair), rows.marginal(pair)) for pair in PAIRS)
        assert np.array_equal(kept.marginal(["c3"]), rows.marginal(["c3"]))
    histogram = rows.histogram()
    counted = adaptive._Remembered.of(histogram, PAIRS, room=40)
    assert np.array_equal(counted.marginal(PAIRS[3]), rows.marginal(PAIRS[3]))


def test_weights_count_the_columns_shared_with_every_set_of_the_workload():
    wanted = [("c0", "c1", "c2"), ("c1", "c3"), ("c2", "c1")]
    naive = {
        part: sum(len(set(part) & set(names)) for names in wanted)
        for part in [("c0", "c1"), ("c0", "c2"), ("c1", "c2"), ("c1", "c3"), ("c0", "c1", "c2")]
    }

    assert candidates(BITS, wanted) == naive
