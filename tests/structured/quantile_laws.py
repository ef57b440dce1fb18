"""The exact laws of the quantiles, by definition and slowly: oracles for the tests beside this file.

With t = exp(-rate) rational every probability is rational; with t a float the same code gives floats.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from math import lcm

from scipy.stats import chisquare

from discreet.structured.quantiles.quantile_tree import Node, tree
from discreet.structured.quantiles.rank_loss import row_sensitivity


def datasets(cells: int, most: int) -> list[tuple[int, ...]]:
    """All counts of at most `most` rows on so many cells."""
    found = (rows for size in range(most + 1) for rows in combinations_with_replacement(range(cells), size))
    return [tuple(rows.count(cell) for cell in range(cells)) for rows in found]


def grown(counts: tuple[int, ...], rows: int = 1) -> set[tuple[int, ...]]:
    """Every data set with at most so many rows more."""
    found = {counts}
    for _ in range(rows):
        found |= {(*c[:i], c[i] + 1, *c[i + 1 :]) for c in found for i in range(len(counts))}
    return found


def loss(counts: tuple[int, ...], quantile: Fraction, margin: int = 0) -> list[int]:
    """b times the distance in rows from the target to the ranks in each cell."""
    a, b, n = quantile.numerator, quantile.denominator, sum(counts)
    target = a * n
    if quantile == 0:
        target = min(margin, n)
    if quantile == 1:
        target = n - min(margin, n)
    out = []
    for j in range(len(counts)):
        ranks = range(sum(counts[:j]), sum(counts[: j + 1]) + 1)
        inside = b * ranks[0] <= target <= b * ranks[-1]
        out.append(0 if inside else min(abs(b * rank - target) for rank in ranks))
    return out


def spread(counts: tuple[int, ...], depth: int) -> tuple[int, ...]:
    """The counts on 2^depth places a cell: the i-th row of a cell at the reversed bits of i."""
    places = 1 << depth
    out = [0] * (len(counts) * places)
    for cell, count in enumerate(counts):
        for i in range(count):
            bits = f"{i % places:0{depth}b}"[::-1] if depth else "0"
            out[cell * places + int(bits, 2)] += 1
    return tuple(out)


def softmax(losses: list[int], t):
    least = min(losses)
    weights = [t ** (x - least) for x in losses]
    return [w / sum(weights) for w in weights]


def node_sensitivity(quantiles: tuple[Fraction, ...]) -> int:
    return lcm(*(row_sensitivity(node.relative) for node in tree(quantiles)))


def recursive_law(counts, quantiles, t, *, depth: int = 0, margin: int = 0):
    """The law of the cells; t is exp(-epsilon / (2 height s)), s the common multiple of all sensitivities."""
    law = defaultdict(lambda: 0 * t)
    common = node_sensitivity(quantiles)

    def walk(pending, found, chance):
        if not pending:
            law[tuple(found[i] for i in range(len(quantiles)))] += chance
            return
        (node, low, part), *rest = pending
        t_here = t ** (common // row_sensitivity(node.relative))
        if node.relative in (0, 1):  # an end is found among cells, not places
            cells = defaultdict(int)
            for i, count in enumerate(part):
                cells[(low + i) >> depth] += count
            for cell, p in zip(cells, softmax(loss(tuple(cells.values()), node.relative, margin), t_here), strict=True):
                walk(rest, found | {node.place: cell}, chance * p)
            return
        for j, p in enumerate(softmax(loss(part, node.relative, margin), t_here)):
            left = (*part[:j], part[j] // 2)
            right = (part[j] - part[j] // 2, *part[j + 1 :])
            more = [(node.left, low, left), (node.right, low + j, right)]
            waiting = [(child, at, piece) for child, at, piece in more if isinstance(child, Node)]
            walk(waiting + rest, found | {node.place: (low + j) >> depth}, chance * p)

    walk([(tree(quantiles), 0, spread(counts, depth))], {}, t**0)
    return dict(law)


def joint_law(counts, quantiles, t, *, depth: int = 0):
    """The law of the cells of p_1 <= .. <= p_m, with probability proportional to t^loss."""
    fine = spread(counts, depth)
    b, n = lcm(*(q.denominator for q in quantiles)), sum(counts)
    steps = [int(b * (after - before)) for before, after in pairwise([Fraction(0), *quantiles, Fraction(1)])]
    weights = defaultdict(lambda: 0 * t)
    for places in combinations_with_replacement(range(len(fine)), len(quantiles)):
        rho = [0, *(sum(fine[:p]) for p in places), n]
        total = sum(abs(b * (hi - lo) - step * n) for (lo, hi), step in zip(pairwise(rho), steps, strict=True))
        weights[tuple(p >> depth for p in places)] += t**total
    whole = sum(weights.values())
    return {cells: w / whole for cells, w in weights.items()}


def pvalue(seen, law, runs):
    """Chi-squared over outcomes (a Counter and a dictionary), the rare ones pooled."""
    assert set(seen) <= set(law)
    often = [key for key, p in law.items() if p * runs >= 8]
    observed, wanted = [seen[key] for key in often], [law[key] * runs for key in often]
    if runs - sum(wanted) < 8:  # the rare ones are too rare even together
        observed[-1] += runs - sum(observed)
        wanted[-1] += runs - sum(wanted)
    else:
        observed.append(runs - sum(observed))
        wanted.append(runs - sum(wanted))
    return chisquare(observed, wanted).pvalue


def worst(law, pairs):
    """The largest ratio of probabilities of one outcome, either way round."""
    most = Fraction(0)
    cache = {}
    for pair in pairs:
        here, there = (cache.setdefault(counts, law(counts)) for counts in pair)
        for key in here if isinstance(here, dict) else range(len(here)):
            most = max(most, here[key] / there[key], there[key] / here[key])
    return most
