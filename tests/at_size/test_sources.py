"""At a million rows and from every kind of source: what is read, counted and added up is what numpy finds."""

from __future__ import annotations

import functools

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.data import Histogram, Records
from discreet.data.columns import Identifier
from discreet.data.domain import Domain
from discreet.data.engines import positions as reading
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.linked_positions import linked_positions
from discreet.data.table import Table
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.guarantee import ZCDP
from discreet.queries import Workload, marginals
from discreet.release import Factorization, IndependentNoise, PrivateMultiplicativeWeights
from discreet.structured import MarginalRelease, PrefixTree
from discreet.synthesis import Synthesizer, quality
from tests.at_size.rows import DOMAIN, FEW, WARDS, N, table
from tests.scale import counts
from tests.sources import KINDS

QUICK = ["Arrow in uneven chunks", "Parquet in files"]  # a million rows of these, and in the full run of all
MANY = [*QUICK, *(kind for kind in KINDS if kind not in QUICK)][: counts(quick=len(QUICK), full=len(KINDS))]
TOGETHER = DuckDB(threads=2)
SMALL = DOMAIN.project(["age", "ward"])


@functools.cache
def _truth(rows: int) -> dict[str, np.ndarray]:
    """The positions of every row, by numpy alone."""
    known = table(rows)
    place = {name: number for number, name in enumerate(WARDS)}
    return {
        "age": known["age"].to_numpy(),
        "cost": np.floor(known["cost"].to_numpy() * 2 + 0.5).astype(np.int64),
        "ward": np.array([place[name] for name in known["ward"].to_pylist()]),
    }


@functools.cache
def _counts(rows: int) -> np.ndarray:
    """How many rows have each age and ward, one after another."""
    counts = np.zeros((100, 3), dtype=np.int64)
    for age, ward in zip(_truth(rows)["age"].tolist(), _truth(rows)["ward"].tolist(), strict=True):
        counts[age, ward] += 1
    return counts


@pytest.fixture(
    params=[(kind, FEW) for kind in KINDS] + [(kind, N) for kind in MANY], ids=lambda one: f"{one[0]}, {one[1]}"
)
def given(request, tmp_path_factory):
    """A source and how many rows it has."""
    kind, rows = request.param
    return KINDS[kind](table(rows), tmp_path_factory.mktemp("source")), rows


def test_rows_are_read_in_order_and_counted_exactly(given):
    source, rows = given
    found = Records.from_frame(source, DOMAIN, every_row=True)

    for name, truth in _truth(rows).items():
        assert np.array_equal(found.column(name), truth), name
    assert np.array_equal(found.marginal(["age", "ward"]), _counts(rows))
    assert np.array_equal(Histogram.from_frame(source, SMALL).counts.ravel(), _counts(rows).ravel())


def _asked(source, question, **table_options):
    """An answer whose noise is zero: a person would have to be unlucky once in e^1000 runs."""
    made = Table(source, domain=Domain({"who": Identifier(), **DOMAIN}), engine=TOGETHER, **table_options)
    curator = dc.Curator({"visits": made}, budget=dc.PureDP(10**6), ledger=":memory:")
    return curator.ask(question, epsilon=10**5).table


def test_counts_and_sums_are_those_of_numpy(given):
    source, rows = given
    question = "SELECT ward, COUNT(*) AS n, SUM(age) AS years FROM visits GROUP BY ward ORDER BY ward"
    most = int(np.bincount(table(rows)["who"].to_numpy()).max())
    bounds = {"unit": "who", "rows_per_unit": most, "groups_per_unit": 3}
    truth = [(name, int(_counts(rows)[:, place].sum()), int(_counts(rows)[:, place] @ np.arange(100)))
             for place, name in enumerate(WARDS)]  # fmt: skip
    for options in ({"unit": None}, bounds):
        found = _asked(source, question, **options)

        assert list(zip(*(found[name].to_pylist() for name in ("ward", "n", "years")), strict=True)) == truth


def test_releases_are_those_of_the_counts(given):
    """Every mechanism that reads a frame reads it by `Records.from_frame`: with one seed it gives one release."""
    source, rows = given
    counts = Histogram(SMALL, _counts(rows))
    workload: Workload = marginals(SMALL, 2)
    made = [
        Factorization(workload, budget=ZCDP(1)),
        IndependentNoise(workload, budget=ZCDP(1)),
        MarginalRelease(workload, budget=ZCDP(1)),
    ]
    for one in made:
        first, second = (one(data, rng=SeededRandom(1)) for data in (source, counts))

        assert np.array_equal(first.answers, second.answers)
    tree = PrefixTree(SMALL.project(["age"]), budget=ZCDP(1))
    first, second = (tree(data, rng=SeededRandom(1)).range(20, 50) for data in (source, counts_of_ages(rows)))
    assert first == second
    online = PrivateMultiplicativeWeights(SMALL, budget=dc.ApproxDP(1, 1e-6), queries=2, n=rows)
    assert np.array_equal(online.histogram(source).counts.ravel(), counts.counts.ravel())


def counts_of_ages(rows):
    return Histogram(SMALL.project(["age"]), _counts(rows).sum(axis=1))


def test_synthetic_data_are_fitted_to_the_rows(given):
    source, rows = given
    synthesizer = Synthesizer(SMALL, budget=ZCDP(10**4))
    model = synthesizer.fit(source, rng=SeededRandom(1))
    found = Records.from_frame(model.sample(1000, rng=SeededRandom(1)), SMALL).marginal(["ward"]) / 1000
    truth = _counts(rows).sum(axis=0) / rows

    assert np.abs(found - truth).max() < 0.06  # four standard deviations of a thousand rows
    if rows == FEW:
        assert quality(model, source, seed=1) is not None


@pytest.mark.parametrize(("kind", "rows"), [*((kind, FEW) for kind in KINDS), ("Parquet in files", N)])
def test_linked_tables_are_joined_by_their_unit(kind, rows, tmp_path_factory):
    """A child's rows have the columns of their own parent, in the order in which the child has them."""
    visits = table(rows)
    who = np.unique(visits["who"].to_numpy())[::-1]
    sources = {
        name: KINDS[kind](source, tmp_path_factory.mktemp(name))
        for name, source in (("people", pa.table({"who": who, "age": who % 100})), ("visits", visits))
    }
    domains = {"people": SMALL.project(["age"]), "visits": SMALL.project(["ward"])}
    found = linked_positions(sources, domains, unit="who", rows_per_unit={"visits": rows}, engine=TOGETHER)

    assert np.array_equal(found["people"][0], who % 100)
    assert np.array_equal(found["people"][1], np.bincount(visits["who"].to_numpy())[who])
    assert np.array_equal(found["visits"][0], _truth(rows)["ward"])
    assert np.array_equal(found["visits"][1], visits["who"].to_numpy() % 100)


def test_a_reader_that_loses_a_row_at_each_chunk_is_caught(monkeypatch, tmp_path):
    exact = reading.row_numbers.in_order

    def lossy(numbers, columns):
        return [np.where(np.arange(len(column)) % 10 == 9, 0, column) for column in exact(numbers, columns)]

    monkeypatch.setattr(reading.row_numbers, "in_order", lossy)
    with pytest.raises(AssertionError):
        test_rows_are_read_in_order_and_counted_exactly((KINDS["Arrow in chunks"](table(FEW), tmp_path), FEW))
