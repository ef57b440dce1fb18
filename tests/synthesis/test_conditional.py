"""discreet.synthesis.conditional: rows of a model whose given columns are held."""

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

import discreet as dc
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.release.models.graphical import GraphicalModel
from discreet.synthesis import conditional
from discreet.synthesis.conditional import sample_given

NAMES = "abcdef"
DOMAIN = dc.Domain({name: dc.Integer(0, size - 1) for name, size in zip(NAMES, (2, 3, 2, 3, 2, 3), strict=True)})
SETS = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("b", "e"), ("e", "f"), ("a", "f", "c")]


def loopy(seed=1):
    rng = np.random.default_rng(seed)
    return GraphicalModel(
        DOMAIN, {names: 1.2 * rng.normal(size=[DOMAIN[name].size for name in names]) for names in SETS}, total=1.0
    )


def law(model, given, values):
    """p(. | given columns) by listing every cell: the oracle."""
    cells = model.marginal(list(NAMES))
    table = cells[tuple(values[given.index(name)] if name in given else slice(None) for name in NAMES)]
    return (table / table.sum()).ravel()


def codes(rows, given, where):
    free = [name for name in NAMES if name not in given]
    found = np.zeros(where.sum(), dtype=np.int64)
    for name in free:
        found = found * DOMAIN[name].size + rows.column(name)[where]
    return found


def fits(counts, expected):
    """Chi-squared with the rare cells put together: the p-value."""
    rare = expected < 8
    seen, awaited = np.append(counts[~rare], counts[rare].sum()), np.append(expected[~rare], expected[rare].sum())
    kept = awaited > 0
    return chisquare(seen[kept], awaited[kept] * seen[kept].sum() / awaited[kept].sum()).pvalue


@pytest.mark.statistical
@pytest.mark.parametrize("given", ["a", "bd", "cf", "abf", "acdef"])
def test_rows_follow_the_conditional_law(given, monkeypatch):
    """For every value of the given columns; a model with loops, rows in any order, several blocks."""
    monkeypatch.setattr(conditional, "ROOM", 200)
    model, each = loopy(), 4000
    values = list(itertools.product(*(range(DOMAIN[name].size) for name in given)))
    owners = np.random.default_rng(2).permutation(np.repeat(np.arange(len(values)), each))
    held = {name: np.array(values)[:, place] for place, name in enumerate(given)}
    rows = sample_given(model, held, owners, rng=SeededRandom(3))
    worst = 1.0
    for place, value in enumerate(values):
        where = owners == place
        expected = each * law(model, given, value)
        worst = min(worst, fits(np.bincount(codes(rows, given, where), minlength=len(expected)), expected))
        for name in given:
            assert (rows.column(name)[where] == held[name][place]).all()

    assert worst > 1e-6 / len(values)


@pytest.mark.statistical
def test_rows_that_only_look_at_their_own_clique_would_be_caught():
    """The twin draws each clique given its columns and the parent clique, without the messages from below."""
    model, each = loopy(), 4000
    given = "d"
    values = np.arange(3)
    owners = np.repeat(values, each)

    def worst():
        rows = sample_given(model, {"d": values}, owners, rng=SeededRandom(3))
        return min(
            fits(np.bincount(codes(rows, given, owners == v), minlength=72), each * law(model, given, (v,)))
            for v in values
        )

    honest = worst()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(conditional, "_upward", lambda cliques, held: [clique.weights(held) for clique in cliques])
        twin = worst()

    assert honest > 1e-6
    assert twin < 1e-6


def test_what_the_model_holds_for_impossible_is_forgotten():
    domain = dc.Domain({"a": dc.Boolean(), "b": dc.Integer(0, 2)})
    model = GraphicalModel(domain, {("a", "b"): np.array([[0.0, 0.0, -np.inf], [-np.inf] * 3])}, total=1.0)
    rows = sample_given(model, {"a": np.array([1])}, np.zeros(200, dtype=np.int64), rng=SeededRandom(1))

    assert set(rows.column("b").tolist()) == {0, 1}  # never what no row can have
    assert set(rows.column("a").tolist()) == {1}


def test_owners_without_rows_and_no_rows_at_all_are_no_failure():
    model = loopy()
    held = {"a": np.array([0, 1, 0])}

    assert len(sample_given(model, held, np.array([2, 2]))) == 2
    assert len(sample_given(model, held, np.array([], dtype=np.int64))) == 0
    with pytest.raises(ParameterError, match="some but not all"):
        sample_given(model, {}, np.array([0]))
