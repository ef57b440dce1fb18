"""discreet.learning.stored: a damaged file is refused in one way, and names nothing but what a fit leaves."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile

import numpy as np
import pytest

from discreet.data import stored_bytes
from discreet.data.columns import Integer
from discreet.data.domain import Domain
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.stored import from_bytes, load, save, to_bytes
from discreet.learning.trees.naive_bayes import NaiveBayes
from discreet.learning.vectors.nearest_neighbours_labels import LabelPrivateNeighbors
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove, Local
from tests.scale import counts

DOMAIN = Domain({"a": Integer(0, 9), "b": Integer(0, 9)})
MUTATIONS = counts(quick=400, full=5000)


def model(kind=NaiveBayes):
    X = np.random.default_rng(0).integers(0, 10, (40, 2))
    return kind(budget=PureDP(1), domain=DOMAIN).fit(X, X[:, 0] > 4, rng=SeededRandom(1))


def parts(data):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(files):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name, data in files.items():
            file.writestr(name, data)
    return made.getvalue()


def changed(rng, data):
    """Some bytes replaced, cut out, repeated or put in."""
    found = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        place = int(rng.integers(0, len(found) or 1))
        match int(rng.integers(0, 4)):
            case 0:
                found[place : place + 1] = rng.bytes(1)
            case 1:
                del found[place : place + int(rng.integers(1, 30))]
            case 2:
                found[place:place] = found[place : place + int(rng.integers(1, 30))]
            case _:
                found[place:place] = rng.bytes(int(rng.integers(1, 5)))
    return bytes(found)


def test_a_damaged_file_is_refused_in_one_way():
    rng = np.random.default_rng(5)
    whole = to_bytes(model())
    inside = parts(whole)
    refused = 0
    for number in range(MUTATIONS):
        if number % 2:
            data = changed(rng, whole)
        else:  # damage that no checksum sees
            name = sorted(inside)[int(rng.integers(0, len(inside)))]
            data = packed({**inside, name: changed(rng, inside[name])})
        blank = NaiveBayes()
        try:
            from_bytes(data, blank)
        except ParameterError:
            refused += 1
            assert not hasattr(blank, "guarantee_")
    assert refused > MUTATIONS // 2


@pytest.mark.parametrize(
    "name", ["__dict__", "__class__", "_private_", "budget", "__sklearn_tags__", "guarantee", "_", "__"]
)
def test_only_fitted_attributes_are_read(name):
    inside = parts(to_bytes(model()))
    text = json.loads(inside["model.json"])
    text["learned"]["dict"].append([name, {"dict": []}])

    with pytest.raises(ParameterError, match="not a stored model"):
        from_bytes(packed({**inside, "model.json": json.dumps(text)}), NaiveBayes())


@pytest.mark.parametrize(
    "odd", ["[" * 100_000, "", "{}", "null", '{"version": 1, "model": "NaiveBayes", "learned": 1}']
)
def test_odd_text_is_refused(odd, tmp_path):
    inside = parts(to_bytes(model()))
    with pytest.raises(ParameterError):
        from_bytes(packed({**inside, "model.json": odd}), NaiveBayes())
    (tmp_path / "m").write_bytes(odd.encode() + b"\n")
    with pytest.raises(ParameterError):
        load(tmp_path / "m")


def test_a_model_without_a_promise_or_with_a_name_that_cannot_be_set_is_refused():
    inside = parts(to_bytes(model()))
    for change in (
        lambda learned: [pair for pair in learned if pair[0] != "guarantee_"],
        lambda learned: [pair if pair[0] != "guarantee_" else ["guarantee_", 3] for pair in learned],
    ):
        text = json.loads(inside["model.json"])
        text["learned"]["dict"] = change(text["learned"]["dict"])
        with pytest.raises(ParameterError):
            from_bytes(packed({**inside, "model.json": json.dumps(text)}), NaiveBayes())


def test_the_promise_is_stored_with_whose_change_it_hides(tmp_path):
    for kind, relation in ((NaiveBayes, AddRemove), (LabelPrivateNeighbors, Local)):
        made = model(kind)
        save(made, tmp_path / "m")

        assert load(tmp_path / "m").guarantee_ == made.guarantee_ == PureDP(1, neighbours=relation)


def unfolding(files, way=zipfile.ZIP_DEFLATED):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", way) as file:
        for name, data in files.items():
            file.writestr(name, data)
    return made.getvalue()


def zeros(count):
    made = io.BytesIO()
    np.save(made, np.zeros(count))
    return made.getvalue()


@pytest.mark.parametrize("surplus", [True, False], ids=["surplus", "referred to"])
def test_a_small_file_that_unfolds_to_much_is_refused_without_being_unfolded(surplus):
    """A model of 1.9 MB took 4.1 GB to read."""
    members = parts(to_bytes(model()))
    name = f"{len(members) - 1}.npy" if surplus else "0.npy"
    bomb = unfolding(members | {name: zeros(5 * 10**6 if surplus else 40 * 10**6)})
    tracemalloc.start()
    try:
        with pytest.raises(ParameterError, match="not a stored model"):
            from_bytes(bomb, NaiveBayes())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert len(bomb) < 2 * 10**6
    assert peak < 10 * 10**6


def test_a_model_that_unfolds_to_much_by_itself_is_stored_so_that_it_can_be_read(monkeypatch):
    monkeypatch.setattr(stored_bytes, "LARGEST", 10)
    monkeypatch.setattr(stored_bytes, "FOLDED", 1)
    data = to_bytes(model())

    assert to_bytes(from_bytes(data, NaiveBayes())) == data
