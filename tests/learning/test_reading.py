"""discreet.learning.reading: what one row holds never changes how another is read, and nothing raises for a value."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.data.columns import Boolean, Categorical, Date, Integer, Real, Timestamp
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import DomainError, ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.linear.ridge import Ridge
from discreet.learning.pipeline import Pipeline
from discreet.learning.reading import as_table, labels_in, places, truth_values
from discreet.learning.reading_values import text_of
from discreet.learning.scaling import PrivateBounds
from discreet.learning.trees.naive_bayes import NaiveBayes
from discreet.learning.vectors.maximum_likelihood import MaximumLikelihoodClassifier
from discreet.privacy.guarantee import ZCDP, PureDP


class Hostile:
    """Answers every question by an error."""

    def __eq__(self, other):
        raise RuntimeError("no")

    def __hash__(self):
        raise RuntimeError("no")

    def __str__(self):
        raise RuntimeError("no")

    __repr__ = __str__


class Imitating(int):
    def __str__(self):
        raise RuntimeError("no")

    __repr__ = __abs__ = __str__


ZOO = [
    None,
    pd.NA,
    pd.NaT,
    float("nan"),
    float("inf"),
    -float("inf"),
    0,
    1,
    True,
    False,
    1.0,
    0.5,
    -0.0,
    1e300,
    2**53 + 1,
    2**64,
    -(2**70),
    10**5000,
    "x",
    "1",
    " 2.5 ",
    "true",
    "",
    "\ud800",
    "\0",
    "2026-01-31",
    b"1",
    b"\xff",
    dt.date(2026, 1, 31),
    dt.datetime(2026, 1, 31, 12),
    dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=14))),
    dt.timedelta(days=1),
    pd.Timestamp("2026-01-31 12:00:00.000000001"),
    np.datetime64("NaT"),
    np.datetime64("2026-01-31", "ns"),
    np.datetime64(2**62, "D"),
    np.float32(1),
    np.longdouble(2),
    np.int8(1),
    np.bool_(True),
    np.str_("x"),
    np.array([1, 2]),
    np.array(1),
    Decimal("1"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("1e999999"),
    Fraction(1, 3),
    Fraction(10**400),
    1 + 2j,
    [1],
    (1, 2),
    {},
    {1},
    object,
    UUID(int=1),
    Hostile(),
    Imitating(1),
]
COLUMNS = {
    "integer": Integer(0, 2**60),
    "real": Real(-10, 10),
    "boolean": Boolean(),
    "word": Categorical(["x", "1", "true", "2026-01-31"]),
    "number": Categorical([0, 1, 2]),
    "date": Date("2026-01-01", "2026-12-31"),
    "moment": Timestamp("2026-01-01", "2026-12-31"),
}
NULLABLE = Domain({"a": Integer(0, 9, nullable=True)})
LABELS = [0, 1, 0, True, 1.0, "x", None]


def nullable(column):
    from discreet.data.columns import column as read

    return Domain({"a": read({**column.to_dict(), "nullable": True})})


def encoded(X, domain):
    return Records.from_frame(as_table(X, domain), domain).column("a").astype(np.int64).tolist()


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_no_value_changes_how_another_is_read_and_none_raises(column):
    domain = nullable(column)
    alone = [as_table([[value]], domain)["a"].to_pylist()[0] for value in ZOO]
    held = np.empty((len(ZOO), 1), dtype=object)
    for place, value in enumerate(ZOO):
        held[place, 0] = value
    for together in ([[value] for value in ZOO], held, pd.DataFrame({"a": pd.Series(ZOO, dtype=object)})):
        assert as_table(together, domain)["a"].to_pylist() == alone

    found = encoded(held, domain)
    assert len(found) == len(ZOO)
    assert encoded(held[::-1], domain) == found[::-1]
    assert len(set(found)) > 2  # some of them are read


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (Integer(0, 2**60), np.array([0, 5, 2**53 + 1, 10**17])),
        (Integer(-5, 5), np.array([True, False])),
        (Real(-10, 10, step="0.1"), np.random.default_rng(0).normal(0, 8, 500)),
        (Real(-10, 10), np.array([np.inf, -np.inf, np.nan, 1e300, -0.0, 5e-324])),
        (Boolean(), np.array([0.0, 2.5, np.nan, -1])),
        (Boolean(), np.array([True, False])),
        (Categorical([0, 1, 2]), np.array([0.0, 1.0, 1.5, 7.0])),
        (Categorical(["true", "1"]), np.array([True, False])),
        (Categorical(["true", "1"]), np.array([1, 2])),
        (Categorical(["1.0"]), np.array([1.0])),
        (Timestamp("2026-01-01", "2026-12-31"), np.array(["2026-03-01T10:11:12"], dtype="datetime64[ns]")),
        (Date("2026-01-01", "2026-12-31"), np.array(["2026-03-01"], dtype="datetime64[us]")),
    ],
)
def test_value_by_value_is_what_the_type_would_give(column, values):
    domain = nullable(column)
    typed = encoded(pd.DataFrame({"a": values}), domain)

    assert encoded([[value] for value in values], domain) == typed
    assert encoded(pd.DataFrame({"a": pd.Series(list(values), dtype=object)}), domain) == typed


def test_large_integers_stay_where_they_are_beside_a_fraction():
    domain = Domain({"a": Integer(0, 2**60)})
    two = [[2**53 + 1], [2**53 + 3]]

    assert encoded(two, domain) == [2**53 + 1, 2**53 + 3]
    assert encoded([*two, [0.5]], domain)[:2] == encoded(two, domain)
    assert encoded(np.asarray([*two, [0.5]]), domain)[:2] != encoded(two, domain)  # the twin that lets NumPy infer


def test_text_that_is_read_in_compiled_code_is_read_the_same_beside_anything():
    domain = Domain({"a": Categorical(["x", "y"], nullable=True)})
    words = ["x", "y", "z", None]

    assert encoded([[word] for word in words], domain) == [0, 1, 2, 2]
    for odd in ZOO:
        assert as_table([[word] for word in [*words, odd]], domain)["a"].to_pylist()[:4] == words


def test_categories_of_pandas_are_read_by_their_values():
    frame = pd.DataFrame({"a": pd.Series([1, 2, None], dtype="category")})
    mixed = pd.DataFrame({"a": pd.Series([1, "2", None], dtype="category")})

    assert encoded(frame, NULLABLE) == encoded(mixed, NULLABLE) == [1, 2, 10]


@pytest.mark.parametrize("odd", ZOO, ids=range(len(ZOO)))
def test_no_label_changes_how_another_is_matched(odd):
    for labels in ([0, 1], [False, True], ["x", "y"]):
        alone = [places(labels_in([one]), labels).to_pylist()[0] for one in LABELS]

        assert places(labels_in([*LABELS, odd]), labels).to_pylist()[:-1] == alone
        series = pd.Series([*LABELS, odd], dtype=object)
        assert places(labels_in(series), labels).to_pylist()[:-1] == alone
    assert places(labels_in(LABELS), [0, 1]).to_pylist() == [0, 1, 0, 1, 1, None, None]


def test_labels_of_every_frame_are_matched():
    truth = [True, None, False]
    for y in (pd.Series(truth, dtype="boolean"), pl.Series(truth), pa.chunked_array([truth]), pa.array(truth)):
        assert truth_values(y)
        assert places(labels_in(y), [False, True]).to_pylist() == [1, None, 0]
    assert places(np.array([1, 300], dtype=np.uint16), ["a", "b"]).to_pylist() == [None, None]
    assert places(labels_in(np.array(["b", "a"])), ["a", "b"]).to_pylist() == [1, 0]
    assert not truth_values(pd.Series(truth, dtype=object))
    assert not truth_values(truth)
    for wrong in ("ab", 3, np.zeros((2, 2))):
        with pytest.raises(ParameterError, match="one column"):
            labels_in(wrong)


def classifier():
    return MaximumLikelihoodClassifier(budget=PureDP(1), domain=Domain({"a": Integer(0, 9)}))


def seen(monkeypatch, model, X, y):
    """The encoded rows that a fit learns from."""
    found = []
    real = type(model)._learn
    with monkeypatch.context() as patch:

        def learn(self, rows, *rest):
            found.append(np.array([rows.column(name).astype(np.int64) for name in rows.domain]).T.tolist())
            return real(self, rows, *rest)

        patch.setattr(type(model), "_learn", learn)
        model.fit(X, y, rng=SeededRandom(1))
    return found[0]


@pytest.mark.parametrize("odd", ZOO, ids=range(len(ZOO)))
def test_a_row_more_is_at_most_one_encoded_row_more(odd, monkeypatch):
    X, y = [[1], [2], [3], [4]], [0, 1, False, True]
    before = seen(monkeypatch, classifier(), X, y)
    for extra, label in (([5], odd), ([odd], 1), ([odd], odd)):
        model = classifier()
        after = seen(monkeypatch, model, [*X, extra], [*y, label])

        assert after[:4] == before == [[1, 0], [2, 1], [3, 0], [4, 1]]
        assert len(after) <= 5
        assert model.classes_.tolist() == [0, 1]
        assert model.classes_.dtype == int

    ridge = Ridge(budget=ZCDP(1), domain=Domain({"a": Integer(0, 9)}), bounds=(0, 10))
    before = seen(monkeypatch, ridge, X, [0, 1.5, "2", 3])
    assert seen(monkeypatch, ridge, [*X, [5]], [0, 1.5, "2", 3, odd])[:4] == before


def test_truth_values_in_a_list_are_classes_0_and_1_and_in_a_typed_column_themselves():
    X = [[1], [2]]

    assert classifier().fit(X, [True, False]).classes_.tolist() == [0, 1]
    assert classifier().fit(X, [True, None]).classes_.tolist() == [0, 1]
    assert classifier().fit(X, np.array([True, False])).classes_.tolist() == [False, True]
    assert classifier().fit(X, pd.Series([True, None], dtype="boolean")).classes_.tolist() == [False, True]


def test_bounds_before_a_classifier_read_text_like_numbers():
    domain = Domain({"a": Integer(0, 9), "b": Categorical([1, 2]), "c": Boolean()})
    frame = pd.DataFrame({"a": ["1", "2", "x"], "b": [1, 2, 1], "c": [True, False, True]})
    nothing = pd.DataFrame({"a": [None], "b": [None], "c": [None]}, dtype=object)
    steps = [("bounds", PrivateBounds()), ("classes", NaiveBayes(classes=(0, 1)))]
    for rows in (frame, pd.concat([frame, nothing], ignore_index=True)):
        y = np.arange(len(rows)) % 2
        model = Pipeline(steps, budget=ZCDP(1), domain=domain).fit(rows, y, rng=SeededRandom(1))
        made = model.steps_[0][1].transform(rows)[:3]

        assert len(model.predict(rows)) == len(rows)
        assert np.isnan(made["a"][2])
        assert made["b"].tolist() == [1, 2, 1]
        assert made["c"].tolist() == [True, False, True]
        assert [str(kind) for kind in made.dtypes] == ["float64", "object", "object"]


@pytest.mark.parametrize(
    "column", [*list(COLUMNS.values())[1:], Integer(2**60, 2**60 + 9), Real(-1, 1, step=Fraction(1, 3))], ids=repr
)
def test_bounded_rows_are_read_as_they_were_and_clamped(column):
    domain = Domain({"a": column})
    bounds = PrivateBounds(budget=PureDP(1), domain=domain).fit([["x"], [1], [0.3]], rng=SeededRandom(1))
    bounds.domain_out_ = domain
    again = nullable(column)

    assert encoded(bounds.transform([[value] for value in ZOO]), again) == encoded([[value] for value in ZOO], again)


def test_wrong_shapes_are_refused():
    domain = Domain({"a": Integer(0, 9), "b": Integer(0, 9)})
    for wrong in ([1, 2], [[1]], [[1, 2], [3]], ["ab"], "ab", 7, np.zeros((2, 3)), np.zeros(2), [{1, 2}]):
        with pytest.raises(ParameterError, match="2 columns"):
            as_table(wrong, domain)
    assert as_table([], domain).num_rows == 0
    with pytest.raises(ParameterError, match="types that Arrow has"):
        as_table(pd.DataFrame({"a": np.zeros(2, dtype=np.longdouble), "b": [1, 2]}), domain)


def test_text_of_is_plain_text():
    assert type(text_of(np.str_("x"), Boolean())) is str
    assert text_of(dt.datetime(2026, 1, 31, 23, tzinfo=dt.timezone(dt.timedelta(hours=-2))), COLUMNS["moment"]) == (
        "2026-02-01 01:00:00.000000"
    )


def test_a_batch_of_arrow_is_read_by_its_names_and_its_refusal_shows_no_value():
    """The `columns` of a batch are its values."""
    batch = pa.table({"a": [12345], "b": [678]}).to_batches()[0]

    assert as_table(batch, Domain({"a": Integer(0, 99_999)})).to_pydict() == {"a": [12345]}
    with pytest.raises(DomainError) as caught:
        as_table(batch, Domain({"c": Integer(0, 9)}))
    assert "12345" not in str(caught.value)
