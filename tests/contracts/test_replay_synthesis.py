"""Record and replay of synthetic data: with the releases as they were, an odd row changes no bit of what is made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.attacks import replay
from discreet.composition.price import price
from discreet.hazmat.entropy import SeededRandom
from discreet.synthesis import LinkedSynthesizer, Synthesizer
from tests.contracts.test_replay import within
from tests.scale import counts

RUNS = counts(quick=2, full=250)  # of each kind of odd row
DOMAIN = dc.Domain(
    {"ward": dc.Categorical(["p", "q", "r"]), "cost": dc.Real(0, 500, step="0.5"), "age": dc.Integer(0, 99)}
)
ODD = {
    "a new category": {"ward": "nowhere", "cost": 20.0, "age": 30},
    "a category that nobody had": {"ward": "r", "cost": 20.0, "age": 30},
    "an outlier": {"ward": "p", "cost": 1e300, "age": 99},
    "a value that nobody had": {"ward": "q", "cost": 499.5, "age": 0},
    "a duplicate": None,
}
BUDGETS = [dc.PureDP(1), dc.ZCDP(0.1), dc.ApproxDP(1.0, 1e-6)]


def tables(kind, seed, times=1):
    """Forty rows of two wards and middling costs, and the same with an odd row."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"ward": draw.choice(["p", "q"], 40), "cost": draw.integers(0, 400, 40) / 2, "age": draw.integers(20, 60, 40)}
    )
    odd = frame.iloc[[0]] if ODD[kind] is None else pd.DataFrame([ODD[kind]])
    return frame, pd.concat([frame, *[odd] * times], ignore_index=True)


def shown(made):
    """All that is public: rows as many as it says, rows as many as asked for, the schema and the intervals."""
    whole, some = made.sample(rng=SeededRandom(4)), made.sample(50, rng=SeededRandom(5))
    return whole, some, str(whole.schema), whole.num_rows, repr(made.encoding.coarse), repr(made.privacy())


class Make:
    """Fit a synthesizer, and show what is made."""

    def __init__(self, method, budget):
        self.synthesizer = Synthesizer(DOMAIN, budget=budget, method=method, rounds=3, bins={"cost": 6, "age": 5})

    def __call__(self, frame):
        return shown(self.synthesizer.fit(frame, rng=SeededRandom(3)))


@pytest.mark.parametrize("method", ["adaptive", "tree", "independent", "mwem"])
@pytest.mark.parametrize("kind", ODD)
def test_an_odd_row_changes_nothing_but_what_mechanisms_are_fed(kind, method):
    for seed in range(RUNS):
        make, pair = Make(method, BUDGETS[seed % 3]), tables(kind, seed)
        found = replay(make, pair if seed % 2 else pair[::-1])

        assert found.violations == ()
        assert found.steps
        assert within(found.price(), price(make.synthesizer.event()))


@pytest.mark.parametrize("method", ["adaptive", "tree", "independent", "mwem"])
def test_several_rows_of_one_person_are_seen(method):
    """The noise of one row is for one row; for five it is that of a group of five."""
    pair = tables("an outlier", 1, times=5)
    kept = replace(Make(method, dc.PureDP(1)).synthesizer, rows_per_unit=5)

    assert replay(Make(method, dc.PureDP(1)), pair).violations
    assert replay(lambda frame: shown(kept.fit(frame, rng=SeededRandom(3))), pair, group=5).violations == ()
    assert kept.privacy() == dc.PureDP(1).under(kept.neighbours)


def test_linked_tables_are_functions_of_their_releases():
    """A person with thirty visits, of which nine count."""
    domains = {"people": dc.Domain({"a": dc.Boolean()}), "visits": dc.Domain({"b": dc.Integer(0, 2)})}

    def people(more):
        draw = np.random.default_rng(1)
        heads = pd.DataFrame({"who": range(20), "a": draw.random(20) < 0.5})
        visits = pd.DataFrame({"who": draw.integers(0, 20, 25), "b": draw.integers(0, 3, 25)})
        if more:
            heads = pd.concat([heads, pd.DataFrame({"who": [99], "a": [True]})], ignore_index=True)
            visits = pd.concat([visits, pd.DataFrame({"who": [99] * 30, "b": [1] * 30})], ignore_index=True)
        return {"people": heads, "visits": visits}

    def run(*, paid):
        made = LinkedSynthesizer(domains, parent="people", rows_per_unit={"visits": 9}, budget=dc.PureDP(2))
        real = LinkedSynthesizer.synthesizers
        cheap = real if paid else lambda self: {n: replace(one, rows_per_unit=1) for n, one in real(self).items()}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(LinkedSynthesizer, "synthesizers", cheap)
            return replay(
                lambda data: made.fit(data, unit="who", rng=SeededRandom(3)).sample(10, rng=SeededRandom(4)),
                (people(False), people(True)), group=9 if paid else 1,
            )  # fmt: skip

    assert run(paid=True).violations == ()
    assert run(paid=False).violations


# What synthesizers elsewhere have copied from the data


def domain_from_unique(frame):
    domain = dc.Domain({**DOMAIN, "ward": dc.Categorical(sorted(frame["ward"].unique()))})
    return Synthesizer(domain, budget=dc.PureDP(1), method="independent").fit(frame, rng=SeededRandom(3))


def number_of_rows_copied(frame):
    return Make("independent", dc.PureDP(1)).synthesizer.fit(frame, rng=SeededRandom(3)), len(frame)


def edges_from_quantiles(frame):
    bins = {"cost": 2 + int(frame["cost"].clip(0, 500).max() // 100), "age": 5}
    made = Synthesizer(DOMAIN, budget=dc.PureDP(1), method="independent", bins=bins)
    return made.fit(frame, rng=SeededRandom(3))


def rounds_from_size(frame):
    made = Synthesizer(DOMAIN, budget=dc.PureDP(1), rounds=len(frame) % 7, bins={"cost": 6, "age": 5})
    return made.fit(frame, rng=SeededRandom(3))


@pytest.mark.parametrize(
    "twin",
    [domain_from_unique, number_of_rows_copied, edges_from_quantiles, rounds_from_size],
    ids=lambda t: t.__name__,
)
def test_what_is_copied_from_the_data_is_seen(twin):
    def run(frame):
        made = twin(frame)
        return shown(made) if not isinstance(made, tuple) else made[0].sample(made[1], rng=SeededRandom(4))

    assert any(replay(run, tables(kind, 1)).violations for kind in ODD)
