"""discreet.queries.statistical and statistical_pieces: one lattice on rows and on tables."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import Boolean, Domain, Identifier, Integer, Real, Table
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.postgres import Postgres
from discreet.data.engines.spark import Spark
from discreet.errors import DomainError, ParameterError, UnsupportedError
from discreet.learning.statistical.source import RowSource, TableSource
from discreet.queries.builder import col
from discreet.queries.expression import number
from discreet.queries.statistical import RESOLUTION, RowFunction, as_rows, centre, normalised, whole
from discreet.queries.statistical_pieces import EVERY, Affine, Piece, Written, lattice_expression
from tests import spark as local
from tests.data.postgres_tables import stored
from tests.data.test_spark import framed
from tests.scale import counts

R = RESOLUTION
SPARKS = counts(quick=0, full=1)
DOMAIN = Domain(
    {
        "who": Identifier(),
        "age": Integer(0, 119),
        "cost": Real(0, 5000, step="0.01"),
        "icu": Boolean(),
        "kids": Integer(0, 9),
    }
)
COLUMNS = ("age", "cost", "icu", "kids")


def people(rows: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    array = np.c_[
        rng.integers(0, 120, rows),
        rng.integers(0, 500_001, rows) / 100,
        rng.integers(0, 2, rows),
        rng.integers(0, 10, rows),
    ]
    columns = {"age": array[:, 0].astype(int), "cost": array[:, 1], "icu": array[:, 2].astype(bool)}
    source = pa.table({"who": np.arange(rows), **columns, "kids": array[:, 3].astype(int)})
    return array, Table(source, domain=DOMAIN, unit="who")


def pieces(seed: int) -> list[Piece]:
    rng = np.random.default_rng(seed)
    forms = [Affine.scaled(0, 0, 119), Affine.scaled(1, 0, 5000), Affine.of({2: 2}, offset=-1), Affine.scaled(3, 0, 9)]

    def some(count: int) -> tuple[Affine, ...]:
        return tuple(forms[i] for i in rng.integers(0, 4, count))

    mixed = Affine.combined(forms, rng.uniform(-1, 1, 4).tolist(), offset=0.1)
    return [
        EVERY,
        Piece(factors=some(2)),
        Piece(factors=some(1), conditions=((mixed,), some(2))),
        Piece(factors=some(2), conditions=(some(1),), excluded=((mixed,),)),
        Piece(conditions=((mixed, forms[2]),), excluded=(some(2),), low=0, high=1),
        Piece(factors=(mixed,), low=-0.25, high=0.5),
    ]


wild = st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=20)


@given(wild, st.floats(-100, 100), st.floats(0.001, 100))
def test_whatever_a_function_returns_each_row_counts_as_an_integer_in_the_range(values, low, width):
    query = RowFunction(lambda rows: np.array(values), low=low, high=low + width)
    found = whole(query, np.zeros((len(values), 1)))

    assert found.dtype == np.int64
    assert np.abs(found).max() <= R


def test_the_twin_that_does_not_clip_is_caught():
    query = RowFunction(lambda rows: rows[:, 0])
    rows = np.array([[3.0], [0.5]])

    assert np.abs(np.rint(query.values(rows) * R)).max() > R
    assert np.abs(whole(query, rows)).max() == R


@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=50), st.floats(-1, 1), st.sampled_from([(-1, 1), (0, 1), (-2, 5)])
)
def test_a_row_moves_a_sum_by_at_most_r_and_replacing_one_by_at_most_2_r(values, other, bounds):
    query = RowFunction(lambda rows: rows[:, 0], low=bounds[0], high=bounds[1])
    rows = np.array(values)[:, None]
    changed = rows.copy()
    changed[0, 0] = other
    sums = [int(whole(query, data).sum()) for data in (rows, rows[1:], changed)]

    assert abs(sums[0] - sums[1]) <= R
    assert abs(sums[0] - sums[2]) <= 2 * R


def test_replacing_a_row_can_move_a_sum_by_2_r():
    query = RowFunction(lambda rows: rows[:, 0])

    assert int(whole(query, np.array([[1.0]])).sum()) - int(whole(query, np.array([[-1.0]])).sum()) == 2 * R


@given(st.lists(st.floats(-2, 5), min_size=1, max_size=50))
def test_the_mean_is_within_half_a_step(values):
    query = RowFunction(lambda rows: rows[:, 0], low=-2, high=5)
    rows = np.array(values)[:, None]
    middle, half = (float(part) for part in centre(query))
    mean = middle + half * float(whole(query, rows).sum()) / (R * len(rows))

    assert abs(mean - rows[:, 0].mean()) <= half / (2 * R) + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_rows_and_tables_have_the_same_sums(seed):
    array, table = people(3000, seed)
    asked = pieces(seed)
    rows = RowSource(array).sums(asked).through(np.array)[0]
    engine = TableSource(table, COLUMNS).prepare(asked)().through(np.array)[0]

    assert np.array_equal(rows, engine)
    assert engine[0] == R * 3000


@pytest.mark.acceptance
def test_every_engine_has_the_same_sums(postgres_url):
    array, table = people(400, 9)
    asked = pieces(9)
    places = [(table.source, DuckDB(threads=1, plain=True)), (stored(postgres_url, table.source), Postgres())]
    if SPARKS:
        session = local.session()
        framed(session, table.source).createOrReplaceTempView("statistical_people")
        places.append(("spark://statistical_people", Spark(session)))
    expected = RowSource(array).sums(asked).through(np.array)[0]
    for source, engine in places:
        there = Table(source, domain=DOMAIN, unit="who", engine=engine)

        assert np.array_equal(TableSource(there, COLUMNS).prepare(asked)().through(np.array)[0], expected)


@pytest.mark.parametrize("seed", range(4))
def test_the_types_prove_that_a_row_counts_as_an_integer_in_the_range(seed):
    _, table = people(1)
    for piece in pieces(seed):
        known = number(lattice_expression(piece, table, COLUMNS))

        assert known.step == 1
        assert -R <= known.low <= known.high <= R


def test_a_written_query_is_cut_to_its_range():
    array, table = people(500)
    old = Written(col("age"), low=0, high=60)
    found = TableSource(table, ()).prepare([old, Written(col("age") >= 65, low=0, high=1)])().through(np.array)[0]

    assert (1 + found[0] / (R * 500)) * 30 == pytest.approx(np.minimum(array[:, 0], 60).mean(), abs=1e-4)
    assert (1 + found[1] / (R * 500)) / 2 == pytest.approx((array[:, 0] >= 65).mean(), abs=1e-6)


def test_units_with_many_rows_are_bounded_before_they_are_summed():
    rows = pa.table({"who": [7] * 50 + [8], "icu": [True] * 51})
    table = Table(rows, domain=Domain({"who": Identifier(), "icu": Boolean()}), unit="who", rows_per_unit=3)

    assert TableSource(table, ("icu",)).prepare([EVERY])().through(np.array)[0, 0] == 4 * R


def test_a_missing_value_counts_as_the_middle():
    rows = pa.table({"age": [10, None]})
    table = Table(rows, domain=Domain({"age": Integer(0, 10, nullable=True)}), unit=None)
    found = (
        TableSource(table, ("age",)).prepare([Piece(factors=(Affine.of({0: 0.1}),), low=0, high=1)])().through(np.array)
    )

    assert abs(int(found[0, 0]) - R) <= 2  # 1 and 1/2
    assert normalised(RowFunction(lambda rows: rows[:, 0], low=0, high=1), np.array([[np.nan]]))[0] == 0


def test_rows_and_tables_agree_on_missing_values():
    """Cut to a range or not, in a factor or in a condition, a number or a truth value."""
    ages, truths = [10, None, 3, 0, None], [True, True, None, False, None]
    columns = {"age": Integer(0, 10, nullable=True), "icu": Boolean(nullable=True)}
    table = Table(pa.table({"age": ages, "icu": truths}), domain=Domain(columns), unit=None)
    array = np.array([ages, truths], dtype=float).T
    age, icu = Affine.of({0: 0.5}), Affine.of({1: 1}, offset=-0.25)
    asked = [
        Piece(factors=(age,), low=0, high=5),
        Piece(factors=(age,), low=-1, high=3),  # cut: a NULL was the low end
        Piece(factors=(icu,), low=0, high=0.5),
        Piece(factors=(icu,), low=0, high=1),
        Piece(factors=(age, icu), low=-1, high=1),
        Piece(factors=(icu,), conditions=((age,),), low=0, high=0.5),
        Piece(factors=(age,), conditions=((icu,),), excluded=((Affine.of({0: 1}, offset=-9),),), low=-1, high=1),
        Piece(factors=(age,), conditions=((age, icu),), low=-1, high=1),
    ]
    rows = RowSource(array).sums(asked).through(np.array)[0]
    engine = TableSource(table, ("age", "icu")).prepare(asked)().through(np.array)[0]
    written = Written(col("age"), low=2, high=6)
    cut = TableSource(table, ()).prepare([written])().through(np.array)[0, 0]

    assert rows.tolist() == engine.tolist()
    assert cut == R - R // 2 - R  # 6, 3 and 2 of [2, 6]; two missing ones add nothing


def test_what_a_function_raises_is_not_shown():
    def leaky(rows):
        raise ValueError(f"the first row is {rows[0, 0]}")

    with pytest.raises(UnsupportedError) as caught:
        whole(RowFunction(leaky), np.array([[271828.0]]))

    assert "271828" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_function_must_give_one_number_a_row():
    with pytest.raises(UnsupportedError, match="one number for each row"):
        whole(RowFunction(lambda rows: rows), np.zeros((3, 2)))


def test_tables_are_asked_in_the_closed_language_and_rows_are_not():
    _, table = people(1)

    with pytest.raises(DomainError, match="closed language"):
        lattice_expression(RowFunction(lambda rows: rows[:, 0]), table, COLUMNS)
    with pytest.raises(UnsupportedError, match="asked of a table"):
        whole(Written(col("age")), np.zeros((1, 1)))
    with pytest.raises(DomainError, match="did you mean 'age'"):
        lattice_expression(EVERY, table, ("agee",))


class Loud:
    def __float__(self):
        raise RuntimeError("I am the first row")


def test_the_dtype_of_rows_decides_what_is_refused_and_no_value_does():
    """An object that is no number is read as NaN; texts are refused, also those that spell a number."""
    told = as_rows(np.array([[1, None], ["x", "2.5"], [10**400, Loud()]], dtype=object))

    assert np.array_equal(told, [[1, np.nan], [np.nan, 2.5], [np.nan, np.nan]], equal_nan=True)
    assert np.array_equal(as_rows(np.array([[np.nan], [np.inf]])), [[np.nan], [np.inf]], equal_nan=True)
    for rows in (0, 1, 2):
        for dtype in ("U3", "S3", "c16", "M8[D]"):
            with pytest.raises(ParameterError, match="an array of numbers"):
                as_rows(np.ones((rows, 1), dtype="i8").astype(dtype))
        assert as_rows(np.ones((rows, 1), dtype=object)).shape == (rows, 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RowFunction(lambda rows: rows, low=1, high=1),
        lambda: RowFunction(lambda rows: rows, low=float("nan")),
        lambda: RowFunction("age"),
        lambda: Piece(low=0.5, high=1),
        lambda: Affine.of({-1: 1}),
        lambda: Affine.of({True: 1}),
        lambda: Affine.of({0: 1e9}),
        lambda: Affine.of({0: float("inf")}),
        lambda: Affine.scaled(0, 5, 5),
        lambda: Affine.of({3: 1}).on(np.zeros((2, 2))),
        lambda: Written("age > 3"),
        lambda: as_rows([["a"]]),
        lambda: as_rows(([[1], [2]], [1])),
        lambda: as_rows(3),
    ],
)
def test_what_is_no_query_is_refused(make):
    with pytest.raises(ParameterError):
        make()
