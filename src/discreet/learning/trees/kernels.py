"""Compiled passes over rows for trees.  Imported only when a model is fitted: numba takes a moment to load.

Each row's numbers depend on that row and on what was released before, never on other rows; sums are of integers.
"""

# ruff: noqa: ANN001, ANN201 - compiled functions are typed by their signatures

from __future__ import annotations

import math

import numba

from discreet.data.engines.kernels import compiled

LINE = numba.types.Array(numba.uint8, 1, "C", readonly=True)
LINES = numba.types.Array(numba.uint8, 2, "C", readonly=True)
PLACES = numba.types.Array(numba.int64, 1, "C", readonly=True)
SIDES = numba.types.Array(numba.uint8, 2, "C", readonly=True)
STEPS, SCORES = numba.float64[:, ::1], numba.float64[:, ::1]
SUMS, NODES = numba.int64[:, ::1], numba.int64[::1]


@compiled(numba.void(SCORES, LINE, STEPS, PLACES, LINE, PLACES, numba.int64, SUMS))
def two_classes(scores, before, steps, labels, line, leaf, scale, sums):
    """Move every score by the step of its cell, then add `scale` (label - probability) to the sum of its leaf."""
    for row in range(labels.size):
        score = scores[row, 0] + steps[before[row], 0]
        scores[row, 0] = score
        chance = 1.0 / (1.0 + math.exp(-score))
        share = min(max(numba.int64(chance * scale), 0), scale)
        sums[leaf[line[row]], 0] += labels[row] * scale - share


@compiled(numba.void(SCORES, LINE, STEPS, PLACES, LINE, PLACES, numba.int64, SUMS))
def many_classes(scores, before, steps, labels, line, leaf, scale, sums):
    """The same with one score a class; the shares of a row add up to at most `scale`, by subtraction of integers."""
    classes = scores.shape[1]
    for row in range(labels.size):
        top = -math.inf
        for k in range(classes):
            scores[row, k] += steps[before[row], k]
            top = max(top, scores[row, k])
        total = 0.0
        for k in range(classes):
            total += math.exp(scores[row, k] - top)
        left, at = scale, leaf[line[row]]
        for k in range(classes):
            share = min(max(numba.int64(math.exp(scores[row, k] - top) / total * scale), 0), left)
            left -= share
            sums[at, k] -= share
        sums[at, labels[row]] += scale


@compiled(numba.void(SCORES, LINE, STEPS, PLACES, LINE, PLACES, numba.int64, SUMS))
def squares(scores, before, steps, labels, line, leaf, scale, sums):
    """Move every score by the step of its cell, then add the residual, cut off at `scale`, to the sum of its leaf.

    Scores are in units of `scale`, labels are integers.
    """
    for row in range(labels.size):
        score = scores[row, 0] + steps[before[row], 0]
        scores[row, 0] = score
        rest = labels[row] - numba.int64(min(max(score, -4.0), 4.0) * scale)
        sums[leaf[line[row]], 0] += min(max(rest, -scale), scale)


@compiled(numba.void(NODES, LINES, PLACES, SIDES))
def descend(nodes, lines, column, right):
    """Move every row from its node to the child on its side: 2 node + (0 or 1)."""
    for row in range(nodes.size):
        node = nodes[row]
        nodes[row] = 2 * node + right[node, lines[column[node], row]]


@compiled(numba.void(PLACES, LINES, PLACES, numba.int64, PLACES, SIDES, numba.int64, numba.int64[:, :, :, ::1]))
def tally(nodes, lines, labels, candidates, column, right, classes, counts):
    """counts[node, candidate, side, class] of every candidate split of every node."""
    for row in range(nodes.size):
        node, label = nodes[row], labels[row]
        for candidate in range(candidates):
            at = node * candidates + candidate
            counts[node, candidate, right[at, lines[column[at], row]], label] += 1
