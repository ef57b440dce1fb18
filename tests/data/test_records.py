"""discreet.data.records and histogram: rows as positions, and their counts."""

from __future__ import annotations

import copy
import datetime as dt
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest

from discreet.data import Boolean, Categorical, Date, Domain, Histogram, Identifier, Integer, Real, Records, Text
from discreet.data.arrays import empty, like, namespace, to_numpy
from discreet.errors import DomainError, ParameterError, UnsupportedError
from tests.arrays import torch

DOMAIN = Domain(
    {
        "patient": Identifier(),
        "age": Integer(20, 23),
        "ward": Categorical(["a", "b", "c"], nullable=True),
        "icu": Boolean(),
        "cost": Real(0, 2, step="0.5"),
        "day": Date("2026-01-01", "2026-01-03"),
    }
)
FRAME = pd.DataFrame(
    {
        "patient": [1, 2, 3, 4, 5],
        "age": [20, 99, 23, None, 21],
        "ward": ["b", None, "nowhere", "a", "c"],
        "icu": [True, False, False, True, True],
        "cost": [0.6, -3.0, 9.0, 1.0, 1.3],
        "day": [
            dt.date(2026, 1, 2),
            dt.date(2025, 1, 1),
            dt.date(2027, 1, 1),
            dt.date(2026, 1, 1),
            dt.date(2026, 1, 3),
        ],
    }
)


def rows(records: Records) -> list[tuple[int, ...]]:
    return sorted(zip(*(records.column(name).tolist() for name in records.domain), strict=True))


def test_a_frame_is_read_by_the_declaration():
    """Clamped, rounded to the lattice, NULL and the unlisted as the last position, undeclared NULL dropped."""
    records = Records.from_frame(FRAME, DOMAIN)

    assert list(records.domain) == ["age", "ward", "icu", "cost", "day"]
    assert rows(records) == [(0, 1, 1, 1, 1), (1, 2, 1, 3, 2), (3, 3, 0, 0, 0), (3, 3, 0, 4, 2)]


def test_polars_and_files_give_the_same_rows(tmp_path):
    import polars as pl

    FRAME.to_parquet(tmp_path / "rows.parquet")
    expected = rows(Records.from_frame(FRAME, DOMAIN))

    assert rows(Records.from_frame(pl.from_pandas(FRAME), DOMAIN)) == expected
    assert rows(Records.from_frame(str(tmp_path / "rows.parquet"), DOMAIN)) == expected


def test_a_missing_column_is_named():
    with pytest.raises(DomainError, match="no column 'icu'"):
        Records.from_frame(FRAME.drop(columns=["icu"]), DOMAIN)


def test_a_marginal_counts_every_combination():
    records = Records.random(DOMAIN, 500, seed=1)
    table = records.marginal(["ward", "icu"])
    pairs = list(zip(records.column("ward").tolist(), records.column("icu").tolist(), strict=True))

    assert table.shape == (4, 2)
    assert all(table[w, i] == pairs.count((w, i)) for w in range(4) for i in range(2))
    assert records.marginal([]) == 500


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_many_marginals_are_each_of_them(n):
    domain = Domain({f"c{i}": Integer(0, size) for i, size in enumerate([1, 9, 299, 3, 4, 70_000])})
    records = Records.random(domain, n, seed=2)
    sets = [names for k in range(3) for names in itertools.combinations(domain, k)]
    sets = [names for names in sets if names != ("c2", "c5")] + [("c3", "c0", "c1")]

    assert len(sets) >= 16  # the compiled way
    for names, table in zip(sets, records.marginals(sets), strict=True):
        assert np.array_equal(table, records.marginal(names))
    assert [table.shape for table in records.marginals(sets[:2])] == [(), (2,)]


def test_the_histogram_has_the_marginals_of_its_rows():
    records = Records.random(DOMAIN, 200, seed=3)
    histogram = records.histogram()

    assert histogram.n == 200
    assert histogram.shape == (4, 4, 2, 5, 3)
    assert np.array_equal(histogram.marginal(["age", "cost"]), records.marginal(["age", "cost"]))
    with pytest.raises(ParameterError, match="order of the domain"):
        histogram.marginal(["cost", "age"])


def test_made_up_rows_are_those_of_their_seed():
    assert rows(Records.random(DOMAIN, 50, seed=1)) == rows(Records.random(DOMAIN, 50, seed=1))
    assert rows(Records.random(DOMAIN, 50, seed=1)) != rows(Records.random(DOMAIN, 50, seed=2))


def test_private_rows_are_neither_shown_nor_copied():
    records = Records.random(DOMAIN, 77, seed=1)
    for private in (records, records.histogram()):
        assert "77" not in repr(private)
        with pytest.raises(TypeError):
            pickle.dumps(private)
        with pytest.raises(TypeError):
            copy.deepcopy(private)


def test_positions_outside_the_declaration_are_refused_without_being_named():
    domain = Domain({"age": Integer(20, 23)})
    for bad in (np.array([0, 4]), np.array([-1, 0])):
        with pytest.raises(DomainError, match=r"positions from 0 to 3 in column 'age'$"):
            Records(domain, [bad])
    for bad in (np.array([0.0, 1.0]), np.zeros((2, 2), dtype=int)):
        with pytest.raises(ParameterError, match="arrays of integer positions"):
            Records(domain, [bad])
    with pytest.raises(ParameterError, match="one array of positions per column"):
        Records(domain, [])


def test_free_text_and_identifiers_cannot_be_counted():
    with pytest.raises(UnsupportedError, match="no declared values"):
        Records.random(Domain({"note": Text(10)}), 3, seed=1)
    with pytest.raises(DomainError, match="identifiers only"):
        Records.random(Domain({"patient": Identifier()}), 3, seed=1)


def test_a_universe_too_large_to_list_is_counted_by_marginals_only():
    records = Records.random(Domain({f"b{i}": Boolean() for i in range(40)}), 100, seed=1)

    assert records.marginal(["b3", "b39"]).sum() == 100
    with pytest.raises(ParameterError, match="at most"):
        records.histogram()


def test_a_histogram_has_one_count_a_cell():
    with pytest.raises(ParameterError, match="one count per cell"):
        Histogram(Domain({"icu": Boolean()}), [1, 2, 3])


def test_arrays_of_two_libraries_by_the_same_calls():
    tensor = torch.ones(3, dtype=torch.float32)
    moved = like(np.arange(3), tensor)

    assert namespace(tensor) is torch
    assert moved.dtype == torch.float32
    assert to_numpy(moved).tolist() == [0, 1, 2]
    assert empty(4, device="cpu").dtype == np.float64
    assert Histogram(Domain({"icu": Boolean()}), torch.tensor([2, 3])).n == 5
    with pytest.raises(ParameterError, match="need an array"):
        namespace([1, 2])


def test_counts_that_no_signed_integer_holds_are_the_largest_that_it_does():
    """They would wrap and be negative; two of them add up in 64 bits."""
    domain = Domain({"icu": Boolean()})
    found = Histogram(domain, np.array([(1 << 64) - 1, 5], dtype=np.uint64)).counts

    assert found.tolist() == [((1 << 63) - 1) // 2, 5]
