"""discreet.composition.export: curves as columns, and as CSV."""

from __future__ import annotations

import csv
import math

import pytest

from discreet.composition import best, loss_columns, profile, renyi_columns, write_csv
from discreet.errors import ParameterError
from discreet.privacy import PureDP
from discreet.privacy.event import GaussianEvent, LaplaceEvent

ITEMS = [LaplaceEvent(scale=10, sensitivity=1)] * 20 + [GaussianEvent(sigma=10, sensitivity=1)] * 5


def test_the_loss_distribution_sums_to_one_and_gives_back_epsilon():
    columns = loss_columns(ITEMS)
    epsilon = float(best(ITEMS, 1e-6).epsilon)
    pairs = zip(columns["loss"], columns["mass"], strict=True)
    delta = math.fsum(
        mass * (1 if math.isinf(loss) else -math.expm1(epsilon - loss)) for loss, mass in pairs if loss > epsilon
    )

    assert math.fsum(columns["mass"]) == pytest.approx(1, abs=1e-9)
    assert delta == pytest.approx(1e-6, rel=1e-2)


def test_the_profile_falls_and_the_renyi_curve_rises():
    epsilons = profile(ITEMS, [1e-9, 1e-6, 1e-3])["epsilon"]
    curve = renyi_columns(ITEMS, [2, 4, 8])["epsilon"]

    assert epsilons == sorted(epsilons, reverse=True)
    assert curve == sorted(curve)


def test_csv_reads_back_what_was_written(tmp_path):
    columns = renyi_columns([PureDP(1)], [2, 3])
    write_csv(tmp_path / "curve.csv", columns)
    with (tmp_path / "curve.csv").open() as file:
        rows = list(csv.DictReader(file))

    assert [float(row["order"]) for row in rows] == [2, 3]
    assert [float(row["epsilon"]) for row in rows] == columns["epsilon"]
    with pytest.raises(ParameterError, match="at least one mechanism"):
        loss_columns([])
