"""What synthesizers have got wrong elsewhere: each failure as a twin of ours, and the check that catches it."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

import discreet as dc
from discreet.composition import numerical
from discreet.data import Records
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.gaussian import Gaussian
from discreet.privacy.event import ComposedEvent, GaussianEvent, RepeatedEvent
from discreet.synthesis import Synthesizer
from discreet.synthesis.schedule import schedule

DELTA = 1e-6
BUDGET = dc.ApproxDP(1.0, DELTA)
ROUNDS = 12


def planned(rounds=ROUNDS):
    return schedule(BUDGET, rounds=rounds, reach=1, moved=1, weight=3, cells=10**6)


def gaussian(rho):
    scale = 2**40
    return GaussianEvent(sigma=scale / math.sqrt(2 * float(rho)), sensitivity=scale)


def spent(event):
    return numerical([event], delta=DELTA).epsilon


def test_ours_keeps_the_budget():
    plan = planned()

    assert 0.95 < spent(plan.event(gaussian(plan.singles.rho))) <= 1


def test_selection_that_is_not_charged_is_caught():
    """The share of the choices is spent on noise, and the choices run all the same."""
    plan = planned()
    sigma = plan.noise.sigma * Fraction(95, 100)  # 1 / 0.9 of the rho of a table
    twin = replace(plan, noise=Gaussian.with_sigma(sigma, sensitivity=1))

    assert spent(twin.event(gaussian(plan.singles.rho))) > 1
    unseen = ComposedEvent(events=(gaussian(plan.singles.rho), RepeatedEvent(event=twin.noise.event(), count=ROUNDS)))
    assert spent(unseen) <= 1.001  # what such an account would claim


def test_columns_measured_first_that_are_not_charged_are_caught():
    """The rounds get the whole budget, and the columns are measured besides."""
    plan = planned()
    factor = math.sqrt(3 / 4)  # noise and choices for all of rho instead of three quarters
    twin = replace(
        plan,
        noise=Gaussian.with_sigma(float(plan.noise.sigma) * factor, sensitivity=1),
        choice=replace(plan.choice, epsilon=plan.choice.epsilon / Fraction(factor)),
    )

    assert spent(twin.event(gaussian(plan.singles.rho))) > 1
    assert spent(twin.event(gaussian(plan.singles.rho * Fraction(1, 10**6)))) <= 1.001


@pytest.mark.parametrize("extra", [1, 3])
def test_extra_tables_before_the_first_round_that_are_not_charged_are_caught(extra):
    plan = planned()
    honest = plan.event(gaussian(plan.singles.rho))
    more = RepeatedEvent(event=plan.noise.event(), count=extra)

    assert spent(ComposedEvent(events=(more, honest))) > 1


def test_the_event_of_a_synthesizer_names_everything_that_runs():
    """Every noisy table and every choice of a run is in the event, as often as it ran."""
    domain = dc.Domain({name: dc.Boolean() for name in "abc"})
    synthesizer = Synthesizer(domain, budget=BUDGET, rounds=5)
    made = synthesizer.fit(Records.random(domain, 300, seed=1), rng=SeededRandom(1))
    singles, rounds = synthesizer.event().events

    assert made.progress.rounds == len(made.progress.chosen) == rounds.count == 5
    assert len(made.progress.measurements) == 3 + 5  # the columns once, and a table a round: no other
    assert singles == synthesizer.singles.event()
    assert rounds.event.events == (synthesizer.schedule.choice.event(), synthesizer.schedule.noise.event())
    assert spent(synthesizer.event()) <= 1


def test_a_domain_from_the_values_that_occur_is_caught():
    """Two tables that differ by one row of a rare ward: the twin shows which it was, ours has the same values."""
    declared = dc.Domain({"ward": dc.Categorical(list("pqr")), "icu": dc.Boolean()})
    frame = pd.DataFrame({"ward": list("pq") * 200, "icu": [True, False] * 200})
    more = pd.concat([frame, pd.DataFrame({"ward": ["r"], "icu": [True]})], ignore_index=True)

    def wards(rows, domain):
        made = Synthesizer(domain, budget=dc.ZCDP(0.001)).fit(rows, rng=SeededRandom(1))
        return set(made.sample(2000, rng=SeededRandom(2)).to_pandas()["ward"])

    def seen(rows):
        return dc.Domain({"ward": dc.Categorical(sorted(rows["ward"].unique())), "icu": dc.Boolean()})

    assert wards(frame, declared) == wards(more, declared) == set("pqr")
    assert "r" in wards(more, seen(more))
    assert "r" not in wards(frame, seen(frame))


def test_values_inside_an_interval_come_from_the_declaration_and_not_from_the_rows():
    """All rows hold one value: a synthesizer that puts values of the rows back would repeat it."""
    domain = dc.Domain({"cost": dc.Integer(0, 6399), "icu": dc.Boolean()})
    frame = pd.DataFrame({"cost": np.full(3000, 737), "icu": np.zeros(3000, dtype=bool)})
    made = Synthesizer(domain, budget=dc.ZCDP(2.0), most=64).fit(frame, rng=SeededRandom(1))
    cost = made.sample(20_000, rng=SeededRandom(2)).to_pandas()["cost"].to_numpy()
    inside = cost[(cost >= 700) & (cost < 800)] - 700  # the interval of 737
    counts = np.bincount(inside, minlength=100)

    assert len(inside) > 15_000
    assert chisquare(counts).pvalue > 1e-6
    twin = np.full(len(inside), 37)
    assert chisquare(np.bincount(twin, minlength=100)).pvalue < 1e-6


def test_as_many_rows_as_the_table_has_are_never_made_by_default():
    """n copied would give the same number for every draw of the noise, and another for a neighbour."""
    domain = dc.Domain({"icu": dc.Boolean(), "smokes": dc.Boolean()})
    rows = Records.random(domain, 500, seed=1)
    sizes = [
        Synthesizer(domain, budget=dc.ZCDP(0.001)).fit(rows, rng=SeededRandom(seed)).sample().num_rows
        for seed in range(6)
    ]

    assert len(set(sizes)) > 3


def test_columns_that_are_independent_given_a_third_stay_so_in_the_rows():
    """Rows drawn by one rank for all children of a value come out in step: correlation 0.8 where there is none."""
    domain = dc.Domain({"a": dc.Boolean(), "b": dc.Integer(0, 3), "c": dc.Integer(0, 3)})
    rng = np.random.default_rng(2)
    a = rng.integers(0, 2, 20_000)
    b, c = (np.minimum(3, rng.binomial(3, 0.3 + 0.4 * a)) for _ in range(2))
    made = Synthesizer(domain, budget=dc.ZCDP(5.0), method="tree").fit(Records(domain, [a, b, c]), rng=SeededRandom(1))
    rows = made.model.sample(20_000, rng=SeededRandom(3))

    def within(one, other, given):
        return max(abs(np.corrcoef(one[given == value], other[given == value])[0, 1]) for value in (0, 1))

    drawn = [rows.column(name).astype(float) for name in "abc"]
    in_step = [np.sort(drawn[1][drawn[0] == 0]), np.sort(drawn[2][drawn[0] == 0])]
    assert within(drawn[1], drawn[2], drawn[0]) < 0.06
    assert np.corrcoef(*in_step)[0, 1] > 0.8
