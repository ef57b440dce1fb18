"""discreet.synthesis.small_universe: MWEM as a synthesizer."""

import numpy as np
import pytest

import discreet as dc
from discreet.data import Records
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.release.models.dense import DenseModel
from discreet.synthesis import Synthesizer
from discreet.synthesis.stored import from_bytes, to_bytes
from tests.synthesis.test_synthesizer import BITS, MIXED, distance, linked, patients


@pytest.mark.parametrize("budget", [dc.PureDP(2), dc.ZCDP(0.1), dc.ApproxDP(1, 1e-6)], ids=repr)
def test_linked_columns_stay_linked(budget):
    data = linked(5000, seed=1)
    made = Synthesizer(BITS, budget=budget, method="mwem").fit(data, rng=SeededRandom(1))
    rows = made.model.sample(5000, rng=SeededRandom(2))

    assert isinstance(made.model, DenseModel)
    assert distance(rows, data, ["a", "b"]) < 0.05
    assert made.privacy() == budget.under(AddRemove)


@pytest.mark.parametrize("k", [1, 3])
def test_noise_is_for_all_rows_of_a_unit(k):
    one, many = (Synthesizer(BITS, budget=dc.PureDP(1), method="mwem", rows_per_unit=r).mwem for r in (1, k))

    assert many.noise.scale == k * one.noise.scale
    assert many.choice.epsilon == one.choice.epsilon / k
    assert many.count.scale == k * one.count.scale


def test_a_budget_with_delta_is_spent_as_the_rho_it_allows():
    made = Synthesizer(BITS, budget=dc.ApproxDP(1, 1e-6), method="mwem").mwem

    assert 0.999 < dc.ZCDP(made.budget.rho).to_approx(1e-6).epsilon <= 1


def test_with_a_public_number_of_rows_one_is_replaced():
    made = Synthesizer(BITS, budget=dc.ZCDP(0.5), method="mwem", n=2000).fit(linked(2000, seed=1), rng=SeededRandom(1))

    assert made.privacy().neighbours is Replace
    assert made.rows == 2000


def test_intervals_and_types_are_those_of_the_other_methods():
    wide = dc.Domain({"cost": dc.Real(0, 5000, step="0.01"), "icu": dc.Boolean(nullable=True)})
    rng = np.random.default_rng(1)
    rows = Records(wide, [rng.integers(0, 500_001, 800), rng.integers(0, 3, 800)])
    made = Synthesizer(wide, budget=dc.ZCDP(1), method="mwem", most=16).fit(rows, rng=SeededRandom(1))
    frame = made.sample(400, rng=SeededRandom(2)).to_pandas()

    assert frame["cost"].between(0, 5000).all()
    assert frame["cost"].nunique() > 300
    assert frame["icu"].isna().any()


def test_a_stored_model_is_what_it_was():
    synthesizer = Synthesizer(MIXED, budget=dc.ZCDP(0.1), method="mwem")
    made = synthesizer.fit(patients(300, seed=1), rng=SeededRandom(1))
    again = from_bytes(to_bytes(made), synthesizer)

    assert again.sample(50, rng=SeededRandom(3)).equals(made.sample(50, rng=SeededRandom(3)))
    assert "one weight for each of 360 combinations of values" in str(made.report()).replace("\n", " ")
    with pytest.raises(ParameterError, match="another domain"):
        from_bytes(to_bytes(made), Synthesizer(MIXED, budget=dc.ZCDP(0.1)))


def test_what_it_cannot_do_is_refused_before_a_row_is_read(tmp_path):
    with pytest.raises(UnsupportedError, match="lists all combinations"):
        Synthesizer(MIXED, budget=dc.ZCDP(1), method="mwem", cells=359)
    zeros = {("ward", "icu"): np.zeros((3, 2), dtype=bool)}
    with pytest.raises(UnsupportedError, match="impossible combinations"):
        Synthesizer(MIXED, budget=dc.ZCDP(1), method="mwem", zeros=zeros)
    with pytest.raises(ParameterError, match="rounds >= 1"):
        Synthesizer(MIXED, budget=dc.ZCDP(1), method="mwem", rounds=0)
    with pytest.raises(UnsupportedError, match="pure budget"):
        Synthesizer(MIXED, budget=dc.ApproxDP(1, 0), method="mwem")
    with pytest.raises(ParameterError, match="no checkpoint"):
        Synthesizer(MIXED, budget=dc.ZCDP(1), method="mwem").fit(patients(5, seed=1), checkpoint=tmp_path / "x")
