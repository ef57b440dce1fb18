"""The privacy loss of whole runs, exactly: what the mechanisms released on D, weighed on D and on its neighbour.

A run is a sequence of calls of the exponential and the Laplace mechanism.  It is recorded on D and played back on D',
which gives the inputs of every call on both, and with them the logarithm of the ratio of the two probabilities of all
that was released: choices and measurements together.  Under pure DP it is at most epsilon in every run.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.attacks import replay
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.laplace import Laplace
from discreet.synthesis import LinkedSynthesizer, Synthesizer
from tests.scale import counts

RUNS = counts(quick=12, full=200)
DOMAIN = dc.Domain({"a": dc.Boolean(), "b": dc.Integer(0, 2)})
EPSILON = 2


def loss(fit, one, other):
    """ln Pr[what was released on one] - ln Pr[the same on the other]."""
    found = replay(fit, (one, other))
    assert not any("on the first dataset" in wrong for wrong in found.violations)  # the same calls
    weighed = zip(found.steps, found.again, strict=True)
    return sum(log_weight(step, step.fed) - log_weight(step, again) for step, again in weighed)


def log_weight(step, value):
    """Up to a constant, the logarithm of the probability of what was released, of this value."""
    if isinstance(step.mechanism, Exponential):
        return float(np.log(step.mechanism.probabilities(np.asarray(value).tolist())[step.released]))
    assert isinstance(step.mechanism, Laplace)
    return float(-np.abs(np.asarray(step.released) - np.asarray(value)).sum() / float(step.mechanism.scale))


def table(n, *, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"a": rng.random(n) < 0.5, "b": rng.integers(0, 3, n)})


def losses(synthesizer, rows):
    """Of a unit with so many equal rows more or less, in RUNS runs."""
    unit = pd.DataFrame({"a": [True] * rows, "b": [2] * rows})
    found = []
    for seed in range(RUNS):
        base = table(30, seed=seed)
        sides = [base, pd.concat([base, unit], ignore_index=True)]
        if seed % 2:
            sides.reverse()
        fit = lambda data, seed=seed: synthesizer.fit(data, rng=SeededRandom(seed)).progress.chosen  # noqa: E731
        found.append(loss(fit, *sides))
    return np.array(found)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("method", ["adaptive", "tree", "mwem"])
def test_no_run_loses_more_than_epsilon(method, rows):
    """For units of one row and of three; the twin that sells three rows at the noise of one loses more."""
    given = {"budget": dc.PureDP(EPSILON), "method": method, "rounds": 4 if method != "tree" else 1}
    ours = losses(Synthesizer(DOMAIN, rows_per_unit=rows, **given), rows)

    assert np.abs(ours).max() <= EPSILON * (1 + 1e-9)
    assert np.abs(ours).max() > EPSILON / 5  # and is not far from it
    if rows > 1:
        twin = losses(Synthesizer(DOMAIN, **given), rows)
        assert np.abs(twin).max() > EPSILON


def test_no_run_over_linked_tables_loses_more_than_epsilon(monkeypatch):
    """One person with many visits, of which nine are kept; the twin that sells them at the noise of one loses more."""
    domains = {"people": DOMAIN.project(["a"]), "visits": DOMAIN.project(["b"])}

    def tables(seed, *, more):
        rng = np.random.default_rng(seed)
        people = pd.DataFrame({"who": range(20), "a": rng.random(20) < 0.5})
        visits = pd.DataFrame({"who": rng.integers(0, 20, 25), "b": rng.integers(0, 3, 25)})
        if more:
            people = pd.concat([people, pd.DataFrame({"who": [99], "a": [True]})])
            visits = pd.concat([visits, pd.DataFrame({"who": [99] * 30, "b": [1] * 30})])
        return {"people": people, "visits": visits}

    made = LinkedSynthesizer(domains, parent="people", rows_per_unit={"visits": 9}, budget=dc.PureDP(EPSILON))

    def largest():
        found = []
        for seed in range(RUNS // 3):
            sides = [tables(seed, more=False), tables(seed, more=True)]
            fit = lambda data, seed=seed: made.fit(data, unit="who", rng=SeededRandom(seed)) and None  # noqa: E731
            found.append(abs(loss(fit, *(sides if seed % 2 else sides[::-1]))))
        return max(found)

    ours, real = largest(), LinkedSynthesizer.synthesizers
    cheap = lambda self: {name: replace(one, rows_per_unit=1) for name, one in real(self).items()}  # noqa: E731
    monkeypatch.setattr(LinkedSynthesizer, "synthesizers", cheap)

    assert ours <= EPSILON * (1 + 1e-9)
    assert largest() > EPSILON
