"""At a million rows, in chunks and permuted: what an estimator says of a row is about that row."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.cli.models import predict
from discreet.data.engines import positions, row_numbers
from discreet.errors import UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning import DeclaredScaler, Pipeline, Ridge, cross_val_score
from discreet.learning.estimator import PrivateClassifier, PrivateRegressor
from discreet.learning.stored import estimators, named, save
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from tests.at_size.rows import DOMAIN, FEW, FITTED, N, in_chunks, order, table
from tests.at_size.takers import takers
from tests.scale import counts
from tests.sources import KINDS, MEMORY

COLUMNS = list(DOMAIN)
SAYS = ("predict", "predict_proba", "decision_function", "transform")
SETTINGS: dict[str, dict[str, object]] = {
    "KMeans": {"n_clusters": 2},
    "NeuralNetwork": {"hidden": (4,), "epochs": 1, "rows": FITTED, "batch": 500},
    "NeuralNetworkRegressor": {"hidden": (4,), "epochs": 1, "rows": FITTED, "batch": 500},
    "PCA": {"n_components": 2},
}
SIZES = {"LabelPrivateNeighbors": (300, 50_000)}  # it keeps its rows, and compares each row with all of them
NAMES = [name for name in estimators() if name != "Pipeline"]
BUDGETS = (ZCDP(5), PureDP(20), ApproxDP(20, 1e-6))


def _fit(name, rows, y):
    kind = named(name)
    settings = dict(SETTINGS.get(name, {})) | ({"bounds": (0, 50)} if issubclass(kind, PrivateRegressor) else {})
    for budget in BUDGETS:
        given = {"budget": budget} if "budget" in kind().get_params() else {}
        try:
            return kind(**given, domain=DOMAIN, **settings).fit(rows, y, rng=SeededRandom(3))
        except UnsupportedError:
            continue
    raise AssertionError(name)


def _labels(name, rows):
    kind = named(name)
    if issubclass(kind, PrivateClassifier):
        return rows["label"].to_numpy()
    return rows["value"].to_numpy() if issubclass(kind, PrivateRegressor) else None


@functools.cache
def fitted(name):
    rows = table().slice(0, SIZES.get(name, (FITTED, N))[0])
    return _fit(name, rows, _labels(name, rows))


def _saying(model, method):
    """What it says of rows, as an array: some give a table."""

    def said(rows):
        found = getattr(model, method)(rows)
        return found.to_numpy() if isinstance(found, pd.DataFrame) else found

    return said


def _same(first, second, model):
    if getattr(model, "by_itself", True):
        return np.array_equal(first, second)
    if first.dtype.kind == "f":
        return np.allclose(first, second, rtol=1e-4, atol=1e-4)
    return (first == second).mean() > 0.999


@pytest.mark.parametrize("name", NAMES)
def test_what_is_said_of_a_row_is_about_that_row(name, tmp_path):
    """Chunks equal the whole, and permuted rows give the permuted answers, from two kinds of source."""
    size = SIZES.get(name, (FITTED, N))[1]
    model, rows, mixing = fitted(name), table().select(COLUMNS).slice(0, size), order(size)
    mixed = in_chunks(rows.take(mixing))
    for method in (method for method in SAYS if hasattr(model, method)):
        say = _saying(model, method)
        whole = say(pl.from_arrow(rows))
        parts = [say(rows.slice(first, size // 10)) for first in range(0, size, size // 10)]

        assert _same(np.concatenate(parts), whole, model)
        assert _same(say(mixed), whole[mixing], model)
        for kind in MEMORY[: counts(quick=0, full=len(MEMORY))]:
            assert _same(say(KINDS[kind](rows.take(mixing), tmp_path)), whole[mixing], model), kind


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_source_is_read_alike(name, tmp_path):
    model, rows = fitted(name), table(FEW).select(COLUMNS)
    for method in (method for method in SAYS if hasattr(model, method)):
        say = _saying(model, method)
        whole = say(rows)
        for kind in MEMORY:
            assert _same(say(KINDS[kind](rows, tmp_path)), whole, model), kind


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_to_chunks_is_the_fit_to_the_whole(name):
    rows = table().slice(0, SIZES.get(name, (FITTED, N))[0])
    y = _labels(name, rows)
    chunks = _fit(name, in_chunks(rows), y)
    method = next(method for method in SAYS if hasattr(chunks, method))
    asked = rows.slice(0, FEW)

    assert _same(_saying(chunks, method)(asked), _saying(fitted(name), method)(asked), chunks)
    if hasattr(chunks, "score") and y is not None:
        assert chunks.score(in_chunks(rows), y) == pytest.approx(fitted(name).score(rows, y), abs=0.05)


def test_steps_and_folds_pair_rows_with_their_labels():
    rows = in_chunks(table().slice(0, FITTED))
    y = rows["value"].to_numpy()
    steps = [("scale", DeclaredScaler()), ("line", Ridge(bounds=(0, 50)))]
    model = Pipeline(steps, budget=ZCDP(5), domain=DOMAIN)

    assert model.fit(rows, y, rng=SeededRandom(1)).score(rows, y) > 0.9
    assert min(cross_val_score(model, rows, y, budget=ZCDP(50), folds=2, progress=False)) > -0.1


def test_the_curve_of_a_network_is_about_its_public_rows():
    whole = table().slice(0, FITTED)
    curves = []
    for rows in (whole, in_chunks(whole)):
        model = named("NeuralNetwork")(
            budget=ZCDP(5), domain=DOMAIN, hidden=(4,), epochs=2, rows=2_000, batch=500,
            public_rows=(rows.select(COLUMNS), rows["label"].to_numpy()),
        )  # fmt: skip
        model.fit(whole.slice(0, 2_000), whole["label"].to_numpy()[:2_000], rng=SeededRandom(5))
        curves.append([epoch.public_score for epoch in model.history_])

    assert curves[0] == pytest.approx(curves[1], abs=1e-3)


def test_the_command_writes_the_prediction_of_each_row_beside_it(tmp_path):
    model, rows = fitted("DecisionTreeClassifier"), table(300_000).select(COLUMNS)
    save(model, tmp_path / "model")
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=10_000)
    predict(tmp_path / "model", tmp_path / "rows.parquet", tmp_path / "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet")

    assert found.select(COLUMNS).equals(rows)
    assert np.array_equal(found["predicted"].to_numpy(), model.predict(rows))


def test_every_estimator_that_takes_rows_is_among_them():
    learners = {
        label.split(".")[1] for label in takers() if label.startswith("learning.") and label.endswith(".fit_rows")
    }

    assert learners <= set(NAMES)


def _shuffle(monkeypatch):
    """An engine that gives rows in any order."""
    rng, fetched = np.random.default_rng(0), positions.fetched

    def shuffled(connection, sql):
        found = fetched(connection, sql)
        mixed = rng.permutation(len(found["r"]))
        return {name: column[mixed] for name, column in found.items()}

    monkeypatch.setattr(positions, "fetched", shuffled)


def _off_by_one(source):
    """The last row of each chunk and the first of the next change places."""
    rows = source if isinstance(source, pa.Table) else pa.table(source)
    numbers = np.arange(rows.num_rows)
    edges = np.cumsum([len(chunk) for chunk in rows.column(0).chunks])[:-1]
    edges = np.unique(edges[(edges > 0) & (edges < rows.num_rows)])
    numbers[edges - 1], numbers[edges] = edges, edges - 1
    return rows.append_column("_row", pa.array(numbers))


TWINS = {
    "a join by place": ("in_order", lambda _, columns: list(columns)),
    "a number that is dropped": ("number", lambda *_: "0"),
    "chunks that are off by one": ("numbered", _off_by_one),
}


def test_an_engine_may_give_rows_in_any_order(monkeypatch, tmp_path):
    _shuffle(monkeypatch)

    test_what_is_said_of_a_row_is_about_that_row("DecisionTreeClassifier", tmp_path)


@pytest.mark.parametrize("twin", TWINS)
def test_twins_are_caught(twin, monkeypatch, tmp_path):
    fitted("DecisionTreeClassifier")
    fitted("Ridge")
    _shuffle(monkeypatch)
    monkeypatch.setattr(row_numbers, *TWINS[twin])

    with pytest.raises(AssertionError):
        test_what_is_said_of_a_row_is_about_that_row("Ridge", tmp_path)


def test_an_engine_that_keeps_no_order_is_caught(monkeypatch, tmp_path):
    """The twin pairs by place what DuckDB gives without the setting, as it did."""
    monkeypatch.setattr(row_numbers, "in_order", lambda _, columns: list(columns))
    monkeypatch.setattr(row_numbers, "keep_order", lambda _: None)

    with pytest.raises(AssertionError):
        test_what_is_said_of_a_row_is_about_that_row("Ridge", tmp_path)
