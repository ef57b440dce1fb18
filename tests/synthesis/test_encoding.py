"""discreet.synthesis.encoding: intervals from the declaration, and rows with valid values."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.data import Records
from discreet.errors import DomainError
from discreet.hazmat.entropy import SeededRandom
from discreet.synthesis.encoding import Encoding

DOMAIN = dc.Domain(
    {
        "age": dc.Integer(0, 119),
        "cost": dc.Real(0, 5000, step="0.01", nullable=True),
        "ward": dc.Categorical(["a", "b", "c"]),
        "code": dc.Categorical([7, 9], nullable=True),
        "icu": dc.Boolean(),
        "day": dc.Date("2020-01-01", "2025-12-31"),
        "at": dc.Timestamp("2020-01-01", "2020-12-31", step=3600),
    }
)


def test_intervals_cover_every_position_once_and_keep_null_apart():
    encoding = Encoding(DOMAIN, most=32)

    assert {name: column.size for name, column in encoding.coarse.items()} == {
        "age": 32, "cost": 33, "ward": 3, "code": 3, "icu": 2, "day": 32, "at": 32,
    }  # fmt: skip
    for name, edges in encoding.edges.items():
        assert edges[0] == 0
        assert edges[-1] == DOMAIN[name].size - DOMAIN[name].nullable
        assert np.diff(edges).min() >= 1
        assert np.ptp(np.diff(edges)) <= 1


def test_decoded_values_lie_in_the_interval_they_were_encoded_to():
    rows = Records.random(DOMAIN, 3000, seed=2)
    encoding = Encoding(DOMAIN, most=32)
    coarse = encoding.encode(rows)
    again = Records.from_frame(encoding.decode(coarse, rng=SeededRandom(1)), DOMAIN)

    assert len(again) == len(rows)
    for name in DOMAIN:
        assert (encoding.encode(again).column(name) == coarse.column(name)).all()
    for name in ("ward", "code", "icu"):
        assert (again.column(name) == rows.column(name)).all()  # kept as they are


def test_rows_have_the_declared_types():
    coarse = Encoding(DOMAIN).encode(Records.random(DOMAIN, 50, seed=3))
    table = Encoding(DOMAIN).decode(coarse, rng=SeededRandom(1))
    first = table.to_pylist()[0]

    assert list(table.column_names) == list(DOMAIN)
    assert [type(first[name]) for name in ("age", "ward", "icu", "day", "at")] == [int, str, bool, dt.date, dt.datetime]
    cost = table.column("cost").to_pandas().dropna()
    assert (np.abs(cost * 100 - (cost * 100).round()) < 1e-6).all()  # on the declared step
    assert cost.between(0, 5000).all()


def test_values_inside_an_interval_are_spread_evenly():
    domain = dc.Domain({"x": dc.Integer(0, 999)})
    encoding = Encoding(domain, bins={"x": 2})
    coarse = Records(encoding.coarse, [np.zeros(50_000, dtype=np.int64)])
    values = encoding.decode(coarse, rng=SeededRandom(5)).column("x").to_numpy()

    assert values.min() == 0
    assert values.max() == 499
    steps = np.sort(values) / 499 - np.linspace(0, 1, len(values))
    assert np.abs(steps).max() < 0.0121  # 1e-6 by Dvoretzky, Kiefer, Wolfowitz


def test_a_combination_of_intervals_is_impossible_only_if_all_its_values_are():
    domain = dc.Domain({"x": dc.Integer(0, 99), "b": dc.Boolean()})
    encoding = Encoding(domain, bins={"x": 10})
    marked = np.zeros((2, 100), dtype=bool)
    marked[1, :20] = True
    marked[1, 25] = True

    (made,) = encoding.within({("b", "x"): marked}).items()

    assert made[0] == ("x", "b")
    assert made[1].sum(axis=0).tolist() == [0, 2]
    assert made[1][:2, 1].all()


def test_columns_without_order_cannot_be_cut():
    with pytest.raises(DomainError, match="no order"):
        Encoding(DOMAIN, bins={"ward": 2})
    with pytest.raises(DomainError, match="no column"):
        Encoding(DOMAIN, bins={"agee": 2})


def test_intervals_do_not_depend_on_rows():
    frames = [pd.DataFrame({"x": values}) for values in ([1, 1, 2], list(range(900)))]
    domain = dc.Domain({"x": dc.Integer(0, 999)})
    edges = [Encoding(domain).edges["x"].tolist() for _ in frames]

    assert edges[0] == edges[1]
