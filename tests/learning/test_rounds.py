"""discreet.learning.rounds: integer sums that rows in memory and every engine make alike, and models from them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from discreet.data.aggregation import Measure
from discreet.data.columns import Boolean, Categorical, Date, Identifier, Integer, Real
from discreet.data.domain import Domain
from discreet.data.engines import positions
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.integer_sums import SumsOfRows, SumsOfTable
from discreet.data.engines.postgres import Postgres
from discreet.data.engines.spark import Spark
from discreet.data.engines.tables_of_counts import position
from discreet.data.records import Records
from discreet.data.table import Table
from discreet.data.whole import constant, named
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning import PCA, KMeans, LinearRegression, LinearSVC, LogisticRegression, Ridge
from discreet.learning.design import Design
from discreet.learning.linear.logistic import LogisticRegression as Logistic
from discreet.learning.linear.losses import RESIDUAL, STEPS, Margin, Softmax, Squared
from discreet.learning.linear.noisy_gradient import sensitivities as gradient_sensitivities
from discreet.learning.rounds import slopes
from discreet.learning.rounds.sums import WEIGHT, gradient, means, moments, target_places
from discreet.learning.rounds.vectors import FINE, Lattice, Moved, lattice_radius, root
from discreet.learning.vectors.clipped_moments import SCALE, mean_sensitivities, sensitivities
from discreet.privacy.guarantee import ZCDP, ApproxDP
from tests.data.postgres_tables import stored
from tests.spark import session

COLUMNS = {
    "age": Integer(0, 2999),
    "dose": Real(-1, 3, step=0.01, nullable=True),
    "day": Date("2020-01-01", "2026-12-31"),
    "ward": Categorical(["a", "b", "c"], nullable=True),
    "icu": Boolean(),
    "wide": Integer(-(1 << 60), 1 << 60),
    "kind": Categorical(["x", "y", "z"]),
}
DOMAIN = Domain(COLUMNS)
LOSSES = {"logistic": Logistic.loss, "svc": LinearSVC.loss, "softmax": Softmax(), "squared": Squared()}


def rows_of(seed, size=120):
    """Rows with values outside the declaration, NULLs where they are declared and where they are not."""
    dice = np.random.default_rng(seed)

    def some(values, nulls):
        return [None if dice.random() < nulls else values[dice.integers(len(values))] for _ in range(size)]

    days = [pd.Timestamp(day).date() for day in ("2019-01-01", "2020-01-01", "2023-05-05", "2026-12-31", "2030-01-01")]
    return pa.table(
        {
            "who": pa.array(dice.integers(0, size // 3, size), pa.int64()),
            "age": pa.array(some([0, 1, 1500, 2999, 9999, -5], 0.05), pa.int64()),
            "dose": pa.array(some([-1.0, 3.0, 0.333, 7.5, -2.0], 0.2), pa.float64()),
            "day": pa.array(some(days, 0.05), pa.date32()),
            "ward": pa.array(some(["a", "b", "c", "?"], 0.1), pa.string()),
            "icu": pa.array(some([True, False], 0.05), pa.bool_()),
            "wide": pa.array(some([-(1 << 62), 1 << 62, 0, 1 << 59, -7], 0.0), pa.int64()),
            "kind": pa.array(some(["x", "y", "z", "w"], 0.05), pa.string()),
        }
    )


def table_of(source, engine, *, unit=None, most=1):
    named_ = {"who": Identifier()} if unit else {}
    bound = {"rows_per_unit": most} if unit else {}
    return Table(source, domain=Domain({**named_, **COLUMNS}), unit=unit, engine=engine, **bound)


def in_memory(rows, unit=None, most=1, salt=0):
    kept = positions.positions(rows, DOMAIN, unit=unit, rows_per_unit=most, salt=salt)
    return SumsOfRows(Records(DOMAIN, kept))


def all_rounds(sums, bins=0, bound=300_000):
    """Every kind of round, as the models ask them."""
    features = Design(DOMAIN.project([name for name in DOMAIN if name != "kind"]), bins)
    dice = np.random.default_rng(5)
    centre = dice.integers(-FINE, FINE, features.width)
    lattice = Lattice(sums, features)
    moved, radius = lattice.moved(centre), lattice_radius(1.1)
    found = [np.array([sums.count()]), lattice.sums(), moved.outside(3.0 * 2.0 ** (-np.arange(9) / 2))]
    found += [means(moved, radius), moments(moved, radius, SCALE // 2)]
    for name, loss in LOSSES.items():
        columns = 3 if name in ("softmax", "svc") else 1
        away = lattice.moved(centre, skip=1) if name == "squared" else moved
        label = target_places(away.entries[-1]) if name == "squared" else sums.places["kind"]
        weights = np.rint(dice.normal(0, 2, (len(away.far) + 1, columns)) * WEIGHT / SCALE)
        found.append(gradient(away, radius, SCALE, label, columns, loss, bound)(weights).ravel())
    return np.concatenate(found)


def test_an_integer_that_may_overflow_or_a_quotient_that_engines_round_otherwise_is_refused():
    big = named("big", 0, 1 << 40)

    with pytest.raises(ParameterError, match="62 bits"):
        big * big
    with pytest.raises(ParameterError, match="divisor of at least 1"):
        big.over(named("d", 0, 5))
    with pytest.raises(ParameterError, match="never negative"):
        (big - 5).over(named("d", 1, 5))
    with pytest.raises(ParameterError, match="31 bits"):
        in_memory(rows_of(1)).sums([], [constant(1 << 31)])


@pytest.mark.parametrize("most", [5000, 1 << 21, 1 << 48])
def test_a_root_is_never_too_small_and_never_larger_than_it_must_be(most):
    numbers = np.unique(np.concatenate([np.arange(4000), np.random.default_rng(1).integers(0, most, 20_000), [most]]))
    numbers = np.concatenate(
        [numbers, np.array([k * k for k in range(1, math.isqrt(most), 1 + most // 10**12)])[:5000]]
    )
    numbers = numbers[numbers <= most]
    layers, found = root(named("n", 0, most), "r")
    known = {"n": numbers}
    for layer in layers:
        known |= {name: np.broadcast_to(one.on(known), numbers.shape) for name, one in layer.items()}
    made = found.on(known)

    assert (made * made >= numbers).all()
    assert ((made - 1) * (made - 1) < np.maximum(numbers, 1)).all()


def test_lines_are_near_their_curves():
    margins = np.arange(-8 * STEPS, 8 * STEPS)
    for loss in (Logistic.loss, LinearSVC.loss):
        made = slopes.line(loss.slope, named("m", -8 * STEPS, 8 * STEPS - 1)).on({"m": margins})

        assert np.abs(made / RESIDUAL - np.clip(loss.slope(margins / STEPS), 0, 1)).max() < 0.004
        assert made.min() >= 0
        assert made.max() <= RESIDUAL


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("seed", range(2))
def test_rows_and_duckdb_have_the_same_sums(seed, unit):
    """With units too: the rows that are kept of one are those that are read in memory."""
    rows = rows_of(seed)
    table = table_of(rows, DuckDB(), unit=unit, most=2)
    for bins in (0, 4):
        expected = all_rounds(in_memory(rows, unit, 2, table.salt), bins)
        made = all_rounds(SumsOfTable(table, DOMAIN, DuckDB()), bins)

        assert made.tolist() == expected.tolist()


@pytest.mark.parametrize("unit", [None, "who"])
def test_rows_and_postgresql_have_the_same_sums(postgres_url, unit):
    rows = rows_of(7)
    table = table_of(stored(postgres_url, rows), Postgres(), unit=unit, most=2)

    made = all_rounds(SumsOfTable(table, DOMAIN, Postgres()))

    assert made.tolist() == all_rounds(in_memory(rows, unit, 2, table.salt)).tolist()


def test_rows_and_spark_have_the_same_sums():
    rows = rows_of(8, size=40)
    frame = session().createDataFrame(
        [tuple(row.values()) for row in rows.to_pylist()],
        "who bigint, age bigint, dose double, day date, ward string, icu boolean, wide bigint, kind string",
    )
    table = table_of(frame, Spark(session()), unit="who", most=2)

    def few(sums):
        lattice = Lattice(sums, Design(DOMAIN.project(["age", "dose", "ward", "wide"])))
        moved = lattice.moved(np.arange(lattice.design.width) * 999)
        weights = np.rint(np.linspace(-1, 1, len(moved.far) + 1)[:, None] * WEIGHT / SCALE)
        sums_at = gradient(moved, lattice_radius(1.0), SCALE, sums.places["kind"], 1, Logistic.loss, 300_000)
        return [*lattice.sums(), *moved.outside(np.array([2.0, 1.0])), *sums_at(weights).ravel()]

    assert few(SumsOfTable(table, DOMAIN, Spark(session()))) == few(in_memory(rows, "who", 2, table.salt))


def test_the_choice_of_rows_by_what_is_added_up_would_be_seen():
    """Two statements then keep two rows of a unit: what they add is no row of its, and may be more than one adds."""
    rows = pa.table({"who": [1] * 8, "left": [0, 1] * 4, "right": [1, 0] * 4})
    domain = Domain({"who": Identifier(), "left": Integer(0, 1), "right": Integer(0, 1)})
    engine, read, found, twins = DuckDB(plain=True), domain.project(["left", "right"]), set(), set()

    def anew(sums, name):
        """The twin: a unit's row is chosen by what it adds to the statement at hand."""
        value = Measure(kind="sum", value=position(name, read[name]).code, low=0, high=1)
        made = replace(sums.aggregation([], []), rows_first=False, layers=(), measures=(value,), columns=(name,))
        return engine.run(table, made).through(lambda cells: int(cells[0, 0]))

    for version in range(1, 21):  # each with a salt of its own
        table = Table(rows, domain=domain, unit="who", version=version)
        sums = SumsOfTable(table, read, engine)
        found.add(tuple(int(sums.sums([], [sums.places[name]])[0]) for name in read))
        twins.add(tuple(anew(sums, name) for name in read))

    assert found == {(0, 1), (1, 0)}
    assert not twins <= found


ODD = [
    "(r)",
    "(R)",
    "(u)",
    "(h)",
    "(h)0",
    "(p0)",
    "(w0)",
    "_r",
    "_u",
    "_h",
    "_h0",
    "_p0",
    "_c0",
    "_C1",
    "__r",
    "u",
    "rr",
]


@pytest.mark.parametrize("name", ODD)
def test_no_name_of_a_column_changes_which_rows_of_a_unit_are_kept(name):
    """Names that SQL of ours has, or had: with one of those in parentheses all rows of a unit were once kept."""
    kept = set()
    for called in (name, "plain"):
        for order in (1, -1):
            values = {"who": [1] * 6, "x": list(range(6))[::order], called: [9, 0, 3, 0, 5, 1][::order]}
            domain = Domain({"who": Identifier(), "x": Integer(0, 9), called: Integer(0, 9)})
            table = Table(pa.table(values), domain=domain, unit="who", rows_per_unit=2)
            sums = SumsOfTable(table, domain.project(["x", called]), DuckDB(plain=True))
            kept.add((sums.count(), *(int(sums.sums([], [place])[0]) for place in sums.places.values())))

    assert len(kept) == 1
    assert kept.pop()[0] == 2


def test_units_of_wide_tables_are_bounded_in_little_memory():
    """A layer of SQL for each word of a hash takes the square of their number, and would fail after a charge."""
    columns = {f"c{number}": Integer(0, 9) for number in range(60)}
    rows = pa.table({"who": [1, 1, 2], **{name: [3, 3, 4] for name in columns}})
    table = Table(rows, domain=Domain({"who": Identifier(), **columns}), unit="who", rows_per_unit=1)
    sums = SumsOfTable(table, Domain(columns), DuckDB(memory="256MB", threads=2))

    assert sums.count() == 2
    small = DuckDB(memory="256MB", threads=2)
    kept = positions.positions(rows, Domain(columns), unit="who", rows_per_unit=1, salt=table.salt, engine=small)
    assert [sorted(column.tolist()) for column in kept] == [[3, 4]] * 60


@pytest.mark.parametrize("model", [LogisticRegression, LinearSVC, Ridge])
def test_a_ridge_for_which_steps_would_diverge_is_refused_before_anything_is_read(model):
    table = table_of(rows_of(3), DuckDB(reads_rows=False))

    with pytest.raises(ParameterError, match="0 <= ridge <= 1e9"):
        model(ridge=1e15, budget=ZCDP(1)).fit(table, "age" if model is Ridge else "icu")


def single_rows():
    """Rows that are as far apart as they may be, alone."""
    for seed in range(2):
        kept = positions.positions(rows_of(seed, 24), DOMAIN)
        for place in range(len(kept[0])):
            yield SumsOfRows(Records(DOMAIN, [column[place : place + 1] for column in kept]))


def moves(sums, radius=0.6, bound=200_000):
    """How far one row moves each round, over what is declared: l1 and squared l2 for each."""
    features = Design(DOMAIN.project([name for name in DOMAIN if name != "kind"]))
    lattice = Lattice(sums, features)
    centre = np.full(features.width, FINE // 3)
    moved, whole = lattice.moved(centre), lattice_radius(radius)
    width = features.width
    made = {
        "sums": (lattice.sums(), (FINE * features.square, FINE**2 * features.square)),
        "means": (means(moved, whole), mean_sensitivities(width)),
        "moments": (moments(moved, whole, SCALE // 2), sensitivities(width, SCALE // 2)),
    }
    for name, loss in LOSSES.items():
        columns = 3 if name in ("softmax", "svc") else 1
        label = target_places(moved.entries[0]) if name == "squared" else sums.places["kind"]
        weights = np.full((width + 1, columns), -2.0 * WEIGHT / SCALE)
        found = gradient(moved, whole, SCALE, label, columns, loss, bound)(weights).ravel()
        made[name] = found, gradient_sensitivities(bound, width + 1, columns)
    return {
        name: (int(np.abs(one).sum()) / limits[0], int((one * one).sum()) / limits[1])
        for name, (one, limits) in made.items()
    }


def test_a_row_moves_every_round_by_at_most_what_is_declared_and_nearly_as_much():
    found = [moves(sums) for sums in single_rows()]

    for name in found[0]:
        assert max(one[name][0] for one in found) <= 1
        assert max(one[name][1] for one in found) <= 1
        assert max(one[name][1] for one in found) > 0.9, name  # the bound is not loose


def test_a_row_moves_the_number_outside_a_radius_by_at_most_one():
    for sums in single_rows():
        lattice = Lattice(sums, Design(DOMAIN))
        found = lattice.moved(np.zeros(lattice.design.width, dtype=np.int64)).outside(np.array([9.0, 2.0, 1.0, 0.1]))

        assert set(found.tolist()) <= {0, 1}
        assert found[0] == 0


def test_the_twins_with_a_root_that_is_too_small_and_without_a_cut_are_caught(monkeypatch):
    """Half the length of a vector as its divisor, and residuals as they are."""
    real = Moved.ball
    with monkeypatch.context() as patch:
        patch.setattr(Moved, "ball", lambda self, radius: real(_shrunk(self), radius))

        assert max(moves(sums)["moments"][1] for sums in single_rows()) > 1
    monkeypatch.setattr(slopes, "cut", lambda errors, *_: ([], list(errors)))

    assert max(moves(sums)["logistic"][1] for sums in single_rows()) > 1


def _shrunk(moved):
    """The squared length is taken for a quarter of what it is."""
    first, squared = moved.layers
    ((name, square),) = squared.items()
    return Moved(moved.rows, moved.entries, moved.far, [first, {name: square.over(4)}], moved.square)


def story(size, seed=0):
    dice = np.random.default_rng(seed)
    a, b, ward = dice.integers(0, 3000, size), dice.integers(0, 3000, size), dice.choice(["x", "y", "z"], size)
    middle = (a + b) / 3000 - 1 + (ward == "x") * 0.4
    value = np.clip((1000 * (middle + 1) + dice.normal(0, 100, size)).round(), 0, 4000).astype(int)
    return pd.DataFrame(
        {"a": a, "b": b, "ward": ward, "value": value, "late": dice.random(size) < 1 / (1 + np.exp(-6 * middle))}
    )


def declared(target, engine, frame):
    columns = {"a": Integer(0, 2999), "b": Integer(0, 2999, nullable=True), "ward": Categorical(["x", "y", "z"])}
    more = {"value": Integer(0, 4000), "late": Boolean()}
    named_ = columns if target is None else {**columns, target: more[target]}
    return Table(frame, domain=Domain(named_), unit=None, engine=engine)


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (LogisticRegression(bins=0), "late"),
        (LinearSVC(bins=0), "late"),
        (LinearRegression(), "value"),
        (Ridge(), "value"),
        (PCA(2), None),
    ],
    ids=lambda one: type(one).__name__ if one is not None else "",
)
def test_a_model_by_rounds_is_that_of_rows_in_memory(model, target):
    """With next to no noise both find the same numbers; they differ by the grid of the entries."""
    frame, found = story(3000), []
    for engine in (DuckDB(), DuckDB(reads_rows=False)):
        model.budget = ZCDP(1e6)
        made = model._fit_table(declared(target, engine, frame), target, SeededRandom(1))
        assert made.privacy().rho == 1e6
        what = {None: "transform", "late": "decision_function", "value": "predict"}[target]
        found.append(getattr(made, what)(frame[["a", "b", "ward"]]))

    assert np.corrcoef(found[0].ravel(), found[1].ravel())[0, 1] > 0.999
    assert np.abs(found[0] - found[1]).mean() < (0.15 if target == "late" else 0.01) * np.abs(found[0]).mean()


def test_few_rows_take_the_descent_of_a_regression_by_rounds_as_well():
    model = LinearRegression(budget=ZCDP(0.001))
    model.fit(declared("value", DuckDB(reads_rows=False), story(300)), "value", rng=SeededRandom(1))

    assert "RepeatedEvent" in repr(model.event())


def test_a_model_that_needs_rows_is_refused_where_they_may_not_leave():
    table = declared(None, DuckDB(reads_rows=False), story(10))

    with pytest.raises(UnsupportedError, match="row by row"):
        KMeans(2, budget=ApproxDP(1.0, 1e-6)).fit(table)


def test_rows_that_wait_for_their_sums_are_neither_shown_nor_copied():
    import pickle

    sums = in_memory(rows_of(1))

    assert repr(sums) == "SumsOfRows(columns=7)"
    with pytest.raises(TypeError, match="cannot be copied"):
        pickle.dumps(sums)


def test_margins_of_two_classes_agree_with_those_in_memory():
    """The residuals of the lines are those of the table in memory, up to a few thousandths."""
    places = np.arange(-9 * STEPS, 9 * STEPS, 37)
    for loss in (Logistic.loss, LinearSVC.loss):
        assert isinstance(loss, Margin)
        layers, (error,) = slopes.residuals(
            loss, [named("m", -(1 << 20), 1 << 20)], named("y", 0, 1), 1 << 40, [constant(1)], 1, "_"
        )
        for label in (0, 1):
            known = {"m": places, "y": np.full(len(places), label)}
            for layer in layers:
                known |= {name: one.on(known) for name, one in layer.items()}
            exact = loss.residuals(places[:, None], known["y"])[:, 0]

            assert np.abs(error.on(known) - exact).max() <= 0.005 * RESIDUAL
