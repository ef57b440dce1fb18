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
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.laplace import Laplace
from discreet.synthesis import LinkedSynthesizer, Synthesizer
from tests.scale import counts

RUNS = counts(quick=12, full=200)
DOMAIN = dc.Domain({"a": dc.Boolean(), "b": dc.Integer(0, 2)})
EPSILON = 2


class Scales:
    """The calls of a run, and what they released."""

    def __init__(self, monkeypatch):
        self.calls, self.outputs, self.playing = [], [], None
        for kind in (Exponential, Laplace):
            monkeypatch.setattr(kind, "__call__", self.weighing(kind.__call__))

    def weighing(self, real):
        def call(mechanism, value, *, rng=None):
            self.calls.append((mechanism, np.array(value)))
            if self.playing is not None:
                return next(self.playing)
            self.outputs.append(real(mechanism, value, rng=rng))
            return self.outputs[-1]

        return call

    def loss(self, fit, one, other):
        """ln Pr[what was released on one] - ln Pr[the same on the other]."""
        self.calls, self.outputs, self.playing = [], [], None
        fit(one)
        before, self.calls, self.playing = self.calls, [], iter(self.outputs)
        fit(other)
        assert [mechanism for mechanism, _ in before] == [mechanism for mechanism, _ in self.calls]
        weighed = zip(before, self.calls, self.outputs, strict=True)
        return sum(log_weight(*x, output) - log_weight(*y, output) for x, y, output in weighed)


def log_weight(mechanism, value, output):
    if isinstance(mechanism, Exponential):
        return float(np.log(mechanism.probabilities(value.tolist())[output]))
    return float(-np.abs(np.asarray(output) - value).sum() / float(mechanism.scale))


def table(n, *, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"a": rng.random(n) < 0.5, "b": rng.integers(0, 3, n)})


def losses(scales, synthesizer, rows):
    """Of a unit with so many equal rows more or less, in RUNS runs."""
    unit = pd.DataFrame({"a": [True] * rows, "b": [2] * rows})
    found = []
    for seed in range(RUNS):
        base = table(30, seed=seed)
        sides = [base, pd.concat([base, unit], ignore_index=True)]
        if seed % 2:
            sides.reverse()
        fit = lambda data, seed=seed: synthesizer.fit(data, rng=SeededRandom(seed))  # noqa: E731
        found.append(scales.loss(fit, *sides))
    return np.array(found)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("method", ["adaptive", "tree", "mwem"])
def test_no_run_loses_more_than_epsilon(monkeypatch, method, rows):
    """For units of one row and of three; the twin that sells three rows at the noise of one loses more."""
    scales = Scales(monkeypatch)
    given = {"budget": dc.PureDP(EPSILON), "method": method, "rounds": 4 if method != "tree" else 1}
    ours = losses(scales, Synthesizer(DOMAIN, rows_per_unit=rows, **given), rows)

    assert np.abs(ours).max() <= EPSILON * (1 + 1e-9)
    assert np.abs(ours).max() > EPSILON / 5  # and is not far from it
    if rows > 1:
        twin = losses(scales, Synthesizer(DOMAIN, **given), rows)
        assert np.abs(twin).max() > EPSILON


def test_no_run_over_linked_tables_loses_more_than_epsilon(monkeypatch):
    """One person with many visits, of which nine are kept; the twin that sells them at the noise of one loses more."""
    scales = Scales(monkeypatch)
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
            fit = lambda data, seed=seed: made.fit(data, unit="who", rng=SeededRandom(seed))  # noqa: E731
            found.append(abs(scales.loss(fit, *(sides if seed % 2 else sides[::-1]))))
        return max(found)

    ours, real = largest(), LinkedSynthesizer.synthesizers
    cheap = lambda self: {name: replace(one, rows_per_unit=1) for name, one in real(self).items()}  # noqa: E731
    monkeypatch.setattr(LinkedSynthesizer, "synthesizers", cheap)

    assert ours <= EPSILON * (1 + 1e-9)
    assert largest() > EPSILON
