"""discreet.release.release, stored and show: what a release says, and that a file keeps it."""

from __future__ import annotations

import io
import json
import zipfile
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from discreet.data import Boolean, Categorical, Domain, Histogram, Integer, Real
from discreet.errors import DomainError, ParameterError, UnsupportedError
from discreet.mechanisms import Exponential
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.queries import marginals, parities, thresholds
from discreet.release import IndependentNoise, Release
from discreet.release.errors import Adjusted, Bounded, Independent, SubGaussian, SubGaussianRuns, Unproven
from discreet.release.factorization_errors import LaplaceSums, NormalSums
from discreet.release.models.dense import DenseModel
from discreet.release.models.graphical import GraphicalModel
from discreet.release.models.product import ProductModel
from discreet.release.small_database import Chosen
from discreet.release.stored import from_bytes, guarantee_from_dict, guarantee_to_dict, to_bytes

DOMAIN = Domain({"age": Integer(20, 23), "ward": Categorical(["a", "b"], nullable=True), "icu": Boolean()})
CELLS = DOMAIN.size


def made(errors, *, model=None, workload=None) -> Release:
    w = workload or marginals(DOMAIN, 1)
    answers = np.arange(len(w)) + 0.5
    return Release(workload=w, answers=answers, guarantee=PureDP(0.5, neighbours=AddRemove), errors=errors, model=model)


NOISES = [
    IndependentNoise(marginals(DOMAIN, 1), budget=PureDP(1)),
    IndependentNoise(marginals(DOMAIN, 1), budget=ZCDP(0.1)),
    IndependentNoise(marginals(DOMAIN, 1), budget=ApproxDP(1, 1e-6), n=100),
]
ERRORS = [
    *(noisy.errors() for noisy in NOISES),
    Independent(NOISES[0].noise, 9, 4),
    SubGaussian(np.arange(9) / 3),
    SubGaussianRuns(np.array([1.0, 2.0]), np.array([4, 5])),
    NormalSums(np.arange(9) / 3, sigma=9.5, draws=12),
    LaplaceSums(np.arange(9) / 3 + 1, np.ones(9) / 2),
    Adjusted(SubGaussian(np.ones(9)), unbiased=np.arange(9) - 2.0, answers=np.arange(9) + 0.5),
    Bounded(7.5, 0.05, 9),
    Chosen(2.5, Exponential(epsilon=1, sensitivity=1), 100, 50, 9),
]


@pytest.mark.parametrize("errors", ERRORS, ids=lambda errors: type(errors).__name__)
def test_a_file_keeps_answers_promise_and_errors(errors, tmp_path):
    release = made(errors)
    back = Release.load(release.save(tmp_path / "some" / "where.release"))

    assert np.array_equal(back.answers, release.answers)
    assert back.privacy() == release.privacy()
    assert back.privacy().neighbours is AddRemove
    assert back.workload.to_dict() == release.workload.to_dict()
    assert back.accuracy(0.1) == release.accuracy(0.1)
    assert np.array_equal(back.errors.each(0.1), release.errors.each(0.1))


def test_a_tabulated_bound_holds_between_its_betas():
    errors = ERRORS[-1]
    back = from_bytes(to_bytes(made(errors))).errors

    assert errors.accuracy(0.07) <= back.accuracy(0.07) == errors.accuracy(0.05)
    with pytest.raises(UnsupportedError, match="down to beta"):
        back.accuracy(1e-12)
    with pytest.raises(ParameterError):
        back.accuracy(2)


def test_a_reason_is_kept():
    back = from_bytes(to_bytes(made(Unproven("nobody knows"))))

    with pytest.raises(UnsupportedError, match="nobody knows"):
        back.accuracy(0.05)


MODELS = [
    DenseModel(DOMAIN, np.arange(CELLS) * 1.0),
    ProductModel(DOMAIN, {("age", "icu"): np.arange(8), ("ward",): [1, 2, 0]}, total=50),
    GraphicalModel(DOMAIN, {("age", "ward"): np.arange(12) / 7, ("ward", "icu"): np.ones(6)}, total=30),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_file_keeps_the_model(model):
    release = made(ERRORS[0], model=model)
    back = from_bytes(to_bytes(release))

    assert type(back.model) is type(model)
    assert np.allclose(back.histogram.counts, release.histogram.counts)
    assert np.allclose(back.answer(marginals(DOMAIN, 2)), release.answer(marginals(DOMAIN, 2)))


def test_the_same_release_is_the_same_bytes():
    assert to_bytes(made(ERRORS[0], model=MODELS[1])) == to_bytes(made(ERRORS[0], model=MODELS[1]))


def test_a_file_holds_parquet_and_json_only():
    with zipfile.ZipFile(io.BytesIO(to_bytes(made(ERRORS[0], model=MODELS[0])))) as archive:
        assert archive.namelist() == ["answers.parquet", "model.parquet", "release.json"]
        assert json.loads(archive.read("release.json"))["form"] == 1


def test_what_is_no_release_is_refused():
    good = to_bytes(made(ERRORS[0]))
    for bad in (b"", b"nonsense", good[:200]):
        with pytest.raises(ParameterError, match="not a stored release"):
            from_bytes(bad)

    def altered(**changes) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(good)) as old, zipfile.ZipFile(out, "w") as new:
            about = json.loads(old.read("release.json")) | changes
            new.writestr("release.json", json.dumps(about))
            new.writestr("answers.parquet", old.read("answers.parquet"))
        return out.getvalue()

    with pytest.raises(UnsupportedError, match="form 9"):
        from_bytes(altered(form=9))
    with pytest.raises(DomainError, match="9 answers to 4 queries"):
        from_bytes(altered(workload=thresholds(4).to_dict()))
    with pytest.raises(ParameterError, match="errors are of no known form"):
        from_bytes(altered(errors={"kind": "code"}))
    with pytest.raises(ParameterError, match="need a promise"):
        from_bytes(altered(guarantee={"kind": "PureDP", "epsilon": "1", "neighbours": "Friends"}))


@pytest.mark.parametrize(
    "promise", [PureDP("1/3"), ApproxDP(0.1, 1e-9, neighbours=Replace), ZCDP(Fraction(1, 7), neighbours=AddRemove)]
)
def test_promises_are_kept_exactly(promise):
    back = guarantee_from_dict(json.loads(json.dumps(guarantee_to_dict(promise))))

    assert back == promise
    assert back.neighbours is promise.neighbours


def test_a_release_answers_its_own_queries_and_others_only_with_a_model():
    release = made(ERRORS[0])
    w = release.workload

    assert np.array_equal(release.answer(w), release.answers)
    assert np.array_equal(release.answer(w[2:5]), release.answers[2:5])
    assert np.array_equal(release.answer(w[7]), release.answers[7:8])
    assert np.array_equal(release.answer(marginals(DOMAIN, 1)), release.answers)
    assert np.array_equal(from_bytes(to_bytes(release)).answer(w[1:3]), release.answers[1:3])
    with pytest.raises(UnsupportedError, match="its own workload only"):
        release.answer(marginals(DOMAIN, 2))
    with pytest.raises(DomainError):
        release.answer(thresholds(9))
    with pytest.raises(UnsupportedError, match="no histogram"):
        release.histogram  # noqa: B018
    with pytest.raises(UnsupportedError, match="model"):
        made(ERRORS[0], workload=thresholds(9)).synthetic(3)


def test_a_frame_has_a_bar_for_every_answer():
    release = made(ERRORS[0])
    frame = release.to_pandas(beta=0.1)
    half = release.errors.each(0.1)

    assert frame["query"].tolist()[:4] == ["age = 20", "age = 21", "age = 22", "age = 23"]
    assert frame["query"].tolist()[6] == "ward IS NULL"
    assert np.array_equal(frame["high"] - frame["answer"], half)
    assert np.array_equal(frame["answer"] - frame["low"], half)
    assert list(made(Unproven("no")).to_pandas().columns) == ["query", "answer"]


def test_a_table_has_its_values_in_columns():
    release = made(SubGaussian(np.ones(26)), workload=marginals(DOMAIN, 2))
    frame = release.to_pandas(["icu", "ward"])

    assert list(frame.columns) == ["ward", "icu", "answer", "low", "high"]
    assert frame["icu"].tolist() == [False, True] * 3
    assert frame["ward"].isna().tolist() == [False] * 4 + [True] * 2
    assert frame["answer"].tolist() == release.workload.tables(release.answers)["ward", "icu"].reshape(-1).tolist()
    with pytest.raises(ParameterError, match="columns of a released marginal"):
        release.to_pandas(["icu"])
    with pytest.raises(UnsupportedError, match="only a release of marginals"):
        made(ERRORS[0], workload=thresholds(9)).to_pandas(["x"])


def test_queries_say_what_they_count():
    assert [str(query) for query in thresholds(3)] == ["x = 0", "x <= 1", "all rows"]
    assert str(parities(3, 2)[1]) == "a function of b0, b2"
    assert str((2 * marginals(DOMAIN, 2))[0]) == "2 x age = 20 AND ward = a"


@pytest.mark.parametrize(("columns", "marks"), [(None, {"bar", "rule"}), (["age"], {"bar", "rule"})])
def test_a_picture_shows_the_bars(columns, marks):
    drawn = made(ERRORS[0]).plot(columns).to_dict()

    assert {layer["mark"]["type"] for layer in drawn["layer"]} == marks


def test_many_answers_make_a_line():
    release = made(SubGaussian(np.ones(100)), workload=thresholds(100))
    alone = made(Unproven("no"), workload=thresholds(100))

    assert {layer["mark"]["type"] for layer in release.plot().to_dict()["layer"]} == {"area", "line"}
    assert alone.plot().to_dict()["mark"]["type"] == "line"


def test_synthetic_rows_have_the_declared_values():
    domain = Domain({**dict(DOMAIN.items()), "cost": Real(0, 2, step="0.5")})
    cells = np.zeros((4, 3, 2, 5))
    cells[1, 2, 1, 3] = 10
    model = DenseModel(domain, cells.reshape(-1))
    release = made(ERRORS[0], model=model, workload=marginals(domain, 1))
    rows = release.synthetic(4)

    assert isinstance(rows, pd.DataFrame)
    assert rows["age"].tolist() == [21] * 4
    assert rows["ward"].isna().all()
    assert rows["icu"].tolist() == [True] * 4
    assert rows["cost"].tolist() == [1.5] * 4


def test_a_release_is_shown_by_its_size_and_promise():
    histogram = Histogram.random(DOMAIN, n=321, seed=1)
    release = NOISES[0](histogram)

    assert repr(release) == "Release(answers=9, PureDP(epsilon=1.0))"
    assert len(release) == 9


@pytest.mark.parametrize("gone", ["workload", "guarantee", "errors"])
def test_a_stored_release_that_lacks_a_part_is_refused_as_one_that_is_damaged(gone):
    """It raised a KeyError."""
    data = to_bytes(
        IndependentNoise(marginals(DOMAIN, 1), budget=PureDP(1))(Histogram(DOMAIN, np.ones(CELLS, dtype=int)))
    )
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    about = json.loads(parts["release.json"])
    for wrong in ({k: v for k, v in about.items() if k != gone}, about | {gone: 7}, about | {gone: []}):
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as file:
            for name, part in (parts | {"release.json": json.dumps(wrong).encode()}).items():
                file.writestr(name, part)

        with pytest.raises((ParameterError, DomainError)):
            from_bytes(made.getvalue())


def test_a_surplus_member_of_a_stored_release_is_refused():
    data = to_bytes(
        IndependentNoise(marginals(DOMAIN, 1), budget=PureDP(1))(Histogram(DOMAIN, np.ones(CELLS, dtype=int)))
    )
    more = io.BytesIO(data)
    with zipfile.ZipFile(more, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("surplus", bytes(10**6))

    assert len(from_bytes(data)) == len(marginals(DOMAIN, 1))
    with pytest.raises(ParameterError, match="not a stored release"):
        from_bytes(more.getvalue())
