"""discreet.release.binary and its compiled counterpart: each against sums written out."""

import math

import numpy as np
import pytest

from discreet.data.columns import Boolean
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.release import binary, binary_compiled
from discreet.release.binary import Exponentials, of_rows, signs, subsets, sums, values
from discreet.release.binary_compiled import CompiledExponentials
from tests.arrays import torch

SHAPES = [(4, 1), (4, 2), (5, 3), (7, 3), (11, 1), (12, 2), (13, 3)]
PLACES = [None, "cpu:0"]  # numpy, and PyTorch's arrays on this machine


def _polynomial(bits, degree, *, seed=1):
    return np.random.default_rng(seed).normal(size=len(subsets(bits, degree))) * 0.1


def _written_out(coefficients, bits, degree, shift):
    chi = signs(bits, degree).astype(float)
    weights = np.exp(chi.T @ coefficients - shift)
    return weights, chi @ weights


def test_signs_are_products_of_the_signs_of_bits():
    for row, members in zip(signs(5, 3), subsets(5, 3), strict=True):
        for x in range(32):
            ones = sum(x >> (4 - bit) & 1 for bit in members)

            assert row[x] == (-1) ** ones


@pytest.mark.parametrize("bits", [3, 10, 12, 13])
def test_sums_and_values_are_adjoint_and_right(bits):
    cells = np.random.default_rng(bits).normal(size=(1 << bits, 2))
    coefficients = np.random.default_rng(bits).normal(size=(len(subsets(bits, 2)), 2))
    chi = signs(bits, 2).astype(float)

    np.testing.assert_allclose(sums(cells, bits, 2), chi @ cells, atol=1e-9)
    np.testing.assert_allclose(values(coefficients, bits, 2), chi.T @ coefficients, atol=1e-9)


@pytest.mark.parametrize(("bits", "degree"), SHAPES)
@pytest.mark.parametrize("device", PLACES)
def test_exponentials_on_any_library_equal_those_written_out(bits, degree, device):
    coefficients, shift = _polynomial(bits, degree), bits * math.log(2)
    weights, every = _written_out(coefficients, bits, degree, shift)
    made = Exponentials(bits, degree, device, "float64")
    total, parities = made(coefficients, shift=shift)

    assert total == pytest.approx(weights.sum())
    np.testing.assert_allclose(parities, every / weights.sum(), atol=1e-12)
    np.testing.assert_allclose(np.asarray(made.cells(coefficients, shift=shift)), weights, rtol=1e-10)


@pytest.mark.parametrize(("bits", "degree"), SHAPES)
def test_compiled_exponentials_equal_those_written_out(bits, degree):
    coefficients, shift = _polynomial(bits, degree), bits * math.log(2)
    weights, every = _written_out(coefficients, bits, degree, shift)
    made = CompiledExponentials(bits, degree)
    total, parities = made(coefficients, shift=shift)

    assert total == pytest.approx(weights.sum(), rel=1e-5)
    np.testing.assert_allclose(parities, every / weights.sum(), atol=5e-6)
    np.testing.assert_allclose(made.cells(coefficients, shift=shift), weights, rtol=1e-4)


def test_blocks_do_not_change_the_sums(monkeypatch):
    coefficients = _polynomial(12, 3)
    whole = Exponentials(12, 3, None, "float64")(coefficients, shift=0.0)
    monkeypatch.setattr(binary, "BLOCK", 1 << 8)
    cut = Exponentials(12, 3, None, "float64")(coefficients, shift=0.0)

    np.testing.assert_allclose(whole[1], cut[1], atol=1e-12)


def test_a_missing_bit_of_a_sign_would_be_noticed():
    """The twin: parities taken with the two most significant bits exchanged."""
    coefficients = _polynomial(7, 2)
    _, every = _written_out(coefficients, 7, 2, 0.0)
    swapped = [subsets(7, 2).index(tuple(sorted({0: 1, 1: 0}.get(bit, bit) for bit in s))) for s in subsets(7, 2)]
    _, parities = CompiledExponentials(7, 2)(coefficients, shift=0.0)

    assert np.abs(parities - (every / every[0])[swapped]).max() > 0.01


@pytest.mark.parametrize(("bits", "degree"), [(4, 2), (9, 3), (13, 2)])
@pytest.mark.parametrize("chunk", [3, 6, 20])
def test_parities_of_counts_are_exact(bits, degree, chunk, monkeypatch):
    monkeypatch.setattr(binary_compiled, "CHUNK", chunk)
    counts = np.random.default_rng(3).integers(0, 1 << 30, 1 << bits)
    exact = signs(bits, degree).astype(np.int64) @ counts

    assert np.array_equal(binary_compiled.of_counts(counts, bits, degree), exact)
    assert np.array_equal(binary.of_counts(counts, bits, degree), exact)
    assert np.array_equal(binary.of_counts(torch.as_tensor(counts), bits, degree), exact)


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("device", PLACES)
def test_parities_of_rows_are_exact(degree, device, monkeypatch):
    monkeypatch.setattr(binary, "ROWS", 1 << 6)
    domain = Domain({f"b{i}": Boolean() for i in range(6)})
    records = Records.random(domain, 500, seed=4)
    exact = signs(6, degree).astype(np.int64) @ records.histogram().counts.reshape(-1)

    assert np.array_equal(of_rows([records.column(name) for name in domain], degree, device=device), exact)
