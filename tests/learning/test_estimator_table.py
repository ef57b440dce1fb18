"""benchmarks.estimators_peers: the table of the guide is what was measured."""

from __future__ import annotations

import json

from benchmarks import estimators_peers as peers


def test_the_guide_shows_what_is_stored():
    assert peers.written() in peers.GUIDE.read_text(encoding="utf-8")


def test_every_estimator_of_the_peer_is_measured_on_every_set_at_every_epsilon():
    cells = json.loads(peers.STORED.read_text(encoding="utf-8"))["cells"]
    found = {(cell["model"], cell["set"], cell["epsilon"]) for cell in cells}
    labelled = ("iris", "breast cancer", "digits")
    asked = {(model, name) for model in peers.CLASSIFIERS for name in labelled}
    asked |= {("KMeans", name) for name in peers.GROUPS}
    asked |= {("LinearRegression", "diabetes"), ("PCA", "iris")}

    assert found >= {(*pair, epsilon) for pair in asked for epsilon in peers.EPSILONS}
    assert len(cells) == len(found)


def test_a_cell_says_which_is_better_and_by_how_much():
    """Twelve fits each: ours better, no telling, worse; and for inertia less is better."""
    data = peers.sets()["iris"]
    high, low = [0.9 + 0.01 * (i % 2) for i in range(12)], [0.5 + 0.01 * (i % 2) for i in range(12)]
    better, same, worse = (
        peers._cell(data, "NaiveBayes", 1.0, *pair, 0.95) for pair in ((high, low), (low, low), (low, high))
    )

    assert better["better_by"] == -worse["better_by"] == 0.4
    assert 0 < better["half"] < 0.02
    assert peers._shown(better).startswith("**0.905 (0.505)")
    assert peers._shown(same) == "0.505 (0.505)"
    assert peers._shown(worse).startswith("*worse:*")
    assert peers._cell(data, "KMeans", 1.0, low, high, 0.4)["better_by"] == 0.4
    assert peers._cell(data, "LinearRegression", 1.0, [0.3] * 3, [-1e9] * 3, 0.4)["theirs"] == peers.WORST
