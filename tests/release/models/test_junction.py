"""discreet.release.models.junction: each claim in the module docstring, in order."""

import itertools
import math

import numpy as np
import pytest

from discreet.data import Domain, Identifier, Integer
from discreet.errors import ParameterError
from discreet.release.models.junction import JunctionTree, junction_size, junction_sizes
from tests.release.models.enumeration import SHAPES, small_domain

SIZES = {"a": 2, "b": 3, "c": 4, "d": 2, "e": 5, "f": 3, "g": 7}


def random_sets(seed):
    rng = np.random.default_rng(seed)
    return [tuple(rng.choice(list(SIZES), size=rng.integers(1, 4), replace=False)) for _ in range(rng.integers(1, 9))]


@pytest.mark.parametrize("seed", range(60))
def test_every_set_lies_in_a_clique_and_the_cliques_of_a_column_are_connected(seed):
    sets = random_sets(seed)
    tree = JunctionTree.over(SIZES, sets)
    cliques = [set(clique) for clique in tree.cliques]

    assert all(any(set(names) <= clique for clique in cliques) for names in sets)
    assert not any(one < other for one, other in itertools.permutations(cliques, 2))
    for name in SIZES:
        holding = [place for place, clique in enumerate(cliques) if name in clique]
        tops = [place for place in holding if name not in tree.separators[place]]
        assert len(tops) == 1  # one clique brings the column in, and all others get it from their parents
        assert all(name in cliques[tree.parents[place]] for place in holding if place not in tops)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_shared_comes_first_and_in_the_order_of_the_parent(seed):
    tree = JunctionTree.over(SIZES, random_sets(seed))

    assert tree.parents[0] == -1
    assert tree.separators[0] == ()
    for place in range(1, len(tree.cliques)):
        shared, parent = tree.separators[place], tree.parents[place]
        assert 0 <= parent < place
        assert tree.cliques[place][: len(shared)] == shared
        assert shared == tuple(name for name in tree.cliques[parent] if name in tree.cliques[place])


@pytest.mark.parametrize("seed", range(60))
def test_the_size_is_predicted_exactly(seed):
    sets = random_sets(seed)
    tree = JunctionTree.over(SIZES, sets)
    built = sum(math.prod(SIZES[name] for name in clique) for clique in tree.cliques)

    assert junction_size(Domain({name: Integer(1, size) for name, size in SIZES.items()}), sets) == built


def smallest_over_all_orders(sizes, sets):
    best = math.inf
    for order in itertools.permutations(sizes):
        near = {name: {other for names in sets if name in names for other in names} - {name} for name in sizes}
        cliques = []
        for name in order:
            cliques.append({name} | near[name])
            for other in near[name]:
                near[other] = (near[other] | near[name]) - {name, other}
        kept = [clique for place, clique in enumerate(cliques) if not any(clique < other for other in cliques[:place])]
        best = min(best, sum(math.prod(sizes[name] for name in clique) for clique in kept))
    return best


@pytest.mark.parametrize("seed", range(12))
def test_the_greedy_orders_are_near_the_best_of_all(seed):
    sizes = {name: SIZES[name] for name in "abcdef"}
    rng = np.random.default_rng(seed)
    sets = [tuple(rng.choice(list(sizes), size=2, replace=False)) for _ in range(7)]
    domain = Domain({name: Integer(1, size) for name, size in sizes.items()})

    assert smallest_over_all_orders(sizes, sets) <= junction_size(domain, sets)
    assert junction_size(domain, sets) <= 1.2 * smallest_over_all_orders(sizes, sets)


def test_a_tree_needs_no_cells_beyond_its_pairs():
    domain = small_domain(3, 4, 5, 6, 7)

    assert junction_size(domain, SHAPES["tree"]) == 12 + 20 + 24 + 42


def test_a_loop_is_cut_by_triangles():
    domain = small_domain(2, 2, 2, 2)

    assert junction_size(domain, [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]) == 16  # two triangles


def test_columns_in_no_set_stand_alone():
    domain = Domain({"a": Integer(0, 2), "who": Identifier(), "b": Integer(0, 3)})

    assert junction_size(domain, []) == 3 + 4


@pytest.mark.parametrize("sets", [[("a", "nowhere")], ["ab"]])
def test_sets_are_of_columns_of_the_domain(sets):
    with pytest.raises(ParameterError, match="need sets of columns of the domain"):
        junction_size(small_domain(2, 2), sets)


def test_compiled_sizes_are_those_of_the_trees():
    """Random graphs of up to 70 columns: more than one word of bits."""
    rng = np.random.default_rng(3)
    for columns in (2, 5, 9, 17, 40, 66, 70):
        domain = Domain({f"c{i}": Integer(0, int(rng.integers(1, 7))) for i in range(columns)})
        names = list(domain)
        drawn = [tuple(rng.choice(names, size=min(columns, 1 + i % 3), replace=False).tolist()) for i in range(columns)]
        more = [tuple(rng.choice(names, size=2, replace=False).tolist()) for _ in range(6)]

        sizes = junction_sizes(domain, drawn, more)

        assert sizes.tolist() == pytest.approx([junction_size(domain, [*drawn, one]) for one in more], rel=1e-12)
