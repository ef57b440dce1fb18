"""discreet.learning.pac.parity_elimination, parity_kernels and bit_rows: the solutions are those of all equations."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning import BitRows
from discreet.learning.pac.parity_elimination import SPARE, uniform_solution
from discreet.learning.pac.parity_kernels import eliminate


def _system(bits, labels):
    rows = BitRows.pack(bits)
    return rows.system(np.arange(len(rows)), np.asarray(labels, dtype=bool))


def _solutions(bits, labels):
    d = bits.shape[1]
    return {h for h in product((0, 1), repeat=d) if (bits @ np.array(h) % 2 == labels).all()}


@pytest.mark.parametrize("d", [1, 2, 3, 6])
@pytest.mark.parametrize("consistent", [False, True])
def test_a_solution_is_one_of_all_and_none_is_none(d, consistent):
    """200 random systems of a few equations, of any rank, against trying every h."""
    data, rng = np.random.default_rng(d), SeededRandom(d)
    nothing = 0
    for _ in range(200):
        bits = data.integers(0, 2, (data.integers(0, d + 3), d))
        labels = bits @ data.integers(0, 2, d) % 2 if consistent else data.integers(0, 2, len(bits))
        found, all_of_them = uniform_solution(_system(bits, labels), d, rng), _solutions(bits, labels)
        nothing += found is None

        assert (found is None) == (not all_of_them)
        assert found is None or tuple(found.tolist()) in all_of_them

    assert (nothing == 0) == consistent


@pytest.mark.statistical
def test_every_solution_is_as_likely():
    bits, labels, rng = np.array([[1, 1, 0, 0], [0, 1, 1, 1]]), np.array([1, 0]), SeededRandom(1)
    drawn = [tuple(uniform_solution(_system(bits, labels), 4, rng).tolist()) for _ in range(4000)]
    often = [drawn.count(h) for h in sorted(_solutions(bits, labels))]

    assert sum(often) == 4000
    assert chisquare(often).pvalue > 1e-6


@pytest.mark.statistical
def test_the_first_solution_sold_as_a_uniform_one_is_caught():
    assert chisquare([4000, 0, 0, 0]).pvalue < 1e-6


@pytest.mark.parametrize("d", [63, 64, 65, 130])
@pytest.mark.parametrize("rank", [5, 40, None])
def test_wide_systems_of_any_rank_over_many_batches(d, rank):
    """Rows of a random space of the given rank; every equation must hold, and one that is broken late is noticed."""
    data, rng = np.random.default_rng(d), SeededRandom(d)
    space = data.integers(0, 2, (rank or d + 10, d))
    bits = data.integers(0, 2, (3 * (d + SPARE) + 7, len(space))) @ space % 2
    labels = bits @ data.integers(0, 2, d) % 2
    found = uniform_solution(_system(bits, labels), d, rng)

    assert (bits @ found % 2 == labels).all()
    last = labels.copy()
    last[-1] ^= 1
    assert uniform_solution(_system(bits, last), d, rng) is None or (rank == 5 and not bits[-1].any())


@pytest.mark.parametrize("shape", [(1, 1), (20, 9), (9, 20), (70, 70), (100, 66)])
def test_elimination_leaves_a_reduced_echelon_form(shape):
    data = np.random.default_rng(0)
    bits = data.integers(0, 2, shape)
    bits[:, shape[1] // 2] = 0  # a column without a pivot
    words, pivots = BitRows.pack(bits).words.copy(), np.empty(shape[1], dtype=np.int64)
    rank = eliminate(words, shape[1], pivots)
    made = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, : shape[1]]

    assert not made[rank:].any()
    assert (np.diff(pivots[:rank]) > 0).all()
    assert (made[:rank][:, pivots[:rank]] == np.eye(rank)).all()
    joined = np.concatenate([BitRows.pack(bits).words, words])
    assert eliminate(joined, shape[1], np.empty(shape[1], dtype=np.int64)) == rank  # the same space


def test_packed_rows_hold_what_was_packed_and_spare_bits_do_not_matter():
    bits = np.random.default_rng(0).integers(0, 2, (5, 70))
    rows = BitRows.pack(bits)
    dirty = BitRows(rows.words | np.array([0, 1 << 40], dtype=np.uint64), 70)
    labels = np.array([1, 0, 1, 1, 0], dtype=bool)

    assert (np.unpackbits(rows.words.view(np.uint8), axis=1, bitorder="little")[:, :70] == bits).all()
    assert (dirty.system(np.arange(5), labels) == rows.system(np.arange(5), labels)).all()
    assert (BitRows.pack(bits * 7).words == rows.words).all()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: BitRows.pack(np.zeros((3, 2))),
        lambda: BitRows.pack(np.zeros(3, dtype=int)),
        lambda: BitRows.pack(np.zeros((3, 0), dtype=int)),
        lambda: BitRows(np.zeros((3, 1), dtype=np.uint64), 65),
        lambda: BitRows(np.zeros((3, 1), dtype=np.int64), 3),
        lambda: BitRows(np.zeros((3, 1), dtype=np.uint64), True),
    ],
)
def test_what_is_no_rows_of_bits_is_refused(wrong):
    with pytest.raises(ParameterError):
        wrong()
