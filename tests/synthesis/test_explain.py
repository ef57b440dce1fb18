"""discreet.synthesis.explain: what is foretold from public facts, beside what happens."""

import math

import numpy as np
import pytest

import discreet as dc
from discreet.data import Records
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.synthesis import Synthesizer, singles
from tests.synthesis.test_synthesizer import BITS, MIXED, linked

BUDGETS = [dc.PureDP(1), dc.ZCDP(0.02), dc.ApproxDP(1, 1e-6)]


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_noise_misplaces_as_many_rows_of_a_column_as_is_said(budget):
    """Half the l1 distance of measured columns from the true ones, over 60 draws; within a tenth."""
    synthesizer, data = Synthesizer(MIXED, budget=budget), Records.random(MIXED, 4000, seed=1)
    rng, off = SeededRandom(5), []
    mechanism = synthesizer.singles
    for _ in range(60):
        for one in singles.measured(mechanism, data, rng=rng):
            off.append(0.5 * np.abs(np.asarray(one.values) - data.marginal(one.columns)).sum() / 4000)

    assert np.mean(off) == pytest.approx(synthesizer.explain(4000).columns[4000], rel=0.1)


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_noise_misplaces_as_many_rows_of_a_pair_as_is_said(budget):
    synthesizer = Synthesizer(MIXED, budget=budget)
    noise, rng = synthesizer.schedule.noise, SeededRandom(6)
    cells = [60 * 3, 60 * 2, 3 * 2]
    drawn = [0.5 * np.abs(noise(np.zeros(size, dtype=np.int64), rng=rng)).sum() for size in cells for _ in range(200)]
    said = synthesizer.explain(10**6).pairs[10**6]

    assert np.mean(drawn) / 10**6 == pytest.approx(said[None], rel=0.1)
    assert said[None] > said[24] > said[12] > said[6] > said[3]
    assert said[3] == pytest.approx(said[None] * np.mean([9, 6, 6]) / np.mean(cells))


def test_made_up_rows_foretell_the_error_of_real_ones_to_a_factor():
    synthesizer = Synthesizer(BITS, budget=dc.ZCDP(0.002))
    _, foretold = synthesizer.explain(5000).simulated(5000)
    data = linked(5000, seed=1)
    made = synthesizer.fit(data, rng=SeededRandom(1)).model.sample(5000, rng=SeededRandom(2))
    pairs = [(a, b) for i, a in enumerate("abcd") for b in "abcd"[i + 1 :]]
    found = np.mean([0.5 * np.abs(made.marginal(p) - data.marginal(p)).sum() / 5000 for p in pairs])

    assert 1 / 3 < foretold / found < 3
    assert synthesizer.explain(5000).simulated(5000) == synthesizer.explain(5000).simulated(5000)


@pytest.mark.parametrize("method", ["adaptive", "tree", "independent", "mwem"])
def test_it_is_told_in_words_and_reads_nothing(method):
    text = str(Synthesizer(MIXED, budget=dc.ZCDP(0.1), method=method, rows_per_unit=2).explain())

    assert f"3 columns by {method}: ZCDP(rho=0.1) for one unit of at most 2 rows" in text
    assert "of 1,000,000 rows the noise misplaces" in text
    assert ("rounds: choose" in text) == (method != "independent")
    assert text.endswith("nothing was read, nothing was spent")


def test_a_column_alone_has_no_pairs():
    alone = Synthesizer(dc.Domain({"icu": dc.Boolean()}), budget=dc.ZCDP(0.1)).explain(100)

    assert alone.pairs == {}
    assert math.isfinite(alone.columns[100])
    assert alone.simulated(100)[1] == 0
    for bad in (0, True, 1.5):
        with pytest.raises(ParameterError, match="integer n >= 1"):
            Synthesizer(MIXED, budget=dc.ZCDP(0.1)).explain(bad)
