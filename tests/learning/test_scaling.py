"""discreet.learning.scaling: each claim in the module docstring, in order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from discreet.data.columns import Boolean, Categorical, Integer, Real
from discreet.data.domain import Domain
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.scaling import DeclaredScaler, PrivateBounds
from discreet.learning.stored import from_bytes, to_bytes
from discreet.learning.vectors.least_noise import least_noise
from discreet.privacy.event import ComposedEvent, RepeatedEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.release.noise import variance
from tests.learning.replay import cost
from tests.scale import counts

DOMAIN = Domain({"pay": Integer(0, 1_000_000), "ward": Categorical(["a", "b"]), "lag": Real(-10, 10), "icu": Boolean()})
TRIALS = counts(quick=60, full=1000)


def frame(n, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "pay": rng.normal(5000, 500, n).round(),
            "ward": rng.choice(["a", "b"], n),
            "lag": rng.normal(0, 0.1, n),
            "icu": rng.random(n) < 0.5,
        }
    )


def test_the_declared_scale_is_free_and_looks_at_no_other_row():
    scaler = DeclaredScaler(domain=DOMAIN)
    rows = frame(20)
    together = scaler.fit(rows).transform(rows)
    alone = np.vstack([scaler.transform(rows[place : place + 1]) for place in range(20)])

    assert (together == alone).all()
    assert scaler.privacy() == PureDP(0)
    assert scaler.event() == ComposedEvent(events=())
    assert np.abs(together).max() <= 1
    assert len(scaler.domain_out_) == together.shape[1] == len(scaler.get_feature_names_out())
    assert (scaler.fit_transform(rows) == together).all()


def test_private_bounds_hold_nearly_all_rows_and_little_else():
    rows = frame(20_000)
    bounds = PrivateBounds(budget=PureDP(1), domain=DOMAIN).fit(rows, rng=SeededRandom(1))
    pay, lag = bounds.domain_out_["pay"], bounds.domain_out_["lag"]

    assert rows["pay"].between(pay.low, pay.high).mean() > 0.98
    assert pay.high - pay.low < 6000  # of a million declared
    assert rows["lag"].between(float(lag.low), float(lag.high)).mean() > 0.97
    assert bounds.domain_out_["ward"] == DOMAIN["ward"]
    assert bounds.domain_out_["icu"] == DOMAIN["icu"]


@pytest.mark.parametrize("budget", [PureDP(1), ZCDP(0.1)], ids=repr)
def test_the_shares_add_up_to_the_budget(budget):
    bounds = PrivateBounds(quantiles=("0.1", "0.9"), budget=budget, domain=DOMAIN).fit(frame(100))
    total = 1 if isinstance(budget, PureDP) else Fraction(1, 10)

    assert 0.99 < float(cost(bounds.event(), budget) / total) <= 1 + 1e-9
    assert sum(isinstance(one, RepeatedEvent) or True for one in bounds.event().events) == 2  # one a column of numbers


@pytest.mark.statistical
def test_quantiles_are_off_by_no_more_rows_than_stated():
    rows = frame(2000)
    beta, misses = 0.1, 0
    for seed in range(TRIALS):
        bounds = PrivateBounds(quantiles=("0.1", "0.9"), budget=PureDP(1), domain=DOMAIN).fit(
            rows, rng=SeededRandom(seed)
        )
        alpha = bounds.accuracy(beta)
        for name in ("pay", "lag"):
            column = bounds.domain_out_[name]
            below = (rows[name] < float(column.low) - 1e-9).sum(), (rows[name] <= float(column.high) + 1e-9).sum()
            misses += below[0] > 200 + alpha + 1 or below[1] < 1800 - alpha - 1

    assert misses <= beta * TRIALS + 5 * np.sqrt(beta * TRIALS)


def test_rows_are_clamped_and_a_poison_row_is_only_one_row():
    rows = frame(500)
    bounds = PrivateBounds(quantiles=("0.1", "0.9"), budget=PureDP(50), domain=DOMAIN).fit(rows, rng=SeededRandom(1))
    odd = pd.DataFrame({"pay": [1e300], "ward": ["a"], "lag": [-1e300], "icu": [True]})
    made = bounds.transform(pd.concat([rows, odd], ignore_index=True))

    assert made["pay"].max() == bounds.domain_out_["pay"].high
    assert made["lag"].min() == float(bounds.domain_out_["lag"].low)
    assert list(made.columns) == list(DOMAIN)
    assert bounds.get_feature_names_out().tolist() == list(DOMAIN)


def test_no_rows_give_bounds_inside_the_declared_ones():
    bounds = PrivateBounds(budget=PureDP(1), domain=DOMAIN).fit(frame(0))

    for name in ("pay", "lag"):
        assert DOMAIN[name].codes[0] <= bounds.domain_out_[name].codes[0] < bounds.domain_out_[name].codes[1]


def test_it_is_stored_without_its_rows():
    bounds = PrivateBounds(budget=ApproxDP(1.0, 1e-6), domain=DOMAIN).fit(frame(300))
    again = from_bytes(to_bytes(bounds), clone(bounds))

    assert again.domain_out_ == bounds.domain_out_
    assert again.accuracy() == bounds.accuracy()


@pytest.mark.parametrize("quantiles", [(0.5,), (0.9, 0.1), (-1, 1), (0, 2), (0.5, 0.5)])
def test_wrong_quantiles_are_refused(quantiles):
    with pytest.raises(ParameterError):
        PrivateBounds(quantiles=quantiles, budget=PureDP(1), domain=DOMAIN).fit(frame(5))


def test_what_no_proof_covers_is_refused():
    with pytest.raises(UnsupportedError, match="PureDP, ApproxDP or ZCDP"):
        PrivateBounds(budget=GaussianDP(1), domain=DOMAIN).fit(frame(5))
    with pytest.raises(ParameterError, match="domain"):
        DeclaredScaler().transform(frame(5))


def test_the_least_noise_is_less_than_the_other():
    steps = [(Fraction(1, 2), 1, 1), (Fraction(1, 2), 3, 2)]
    for epsilon in (0.1, 1.0, 10.0):
        budget = ApproxDP(epsilon, 1e-6)
        found = least_noise(budget, steps, entries=10)

        def product(allowance):
            return np.prod([variance(allowance.noise(s * allowance.total, absolute=a, square=q)) for s, a, q in steps])

        from discreet.release.allowance import Allowance

        others = [Allowance(budget, entries=10), Allowance(PureDP(epsilon), entries=10)]
        assert product(found) <= min(product(one) for one in others) * (1 + 1e-12)
