"""Exact verification of a mechanism given as a finite table of probabilities.

Theorem.  Let M map finitely many inputs to laws on finitely many outputs.  M is
(epsilon, delta)-DP for a set of neighbouring pairs if and only if, for every pair in
both directions,

    sum over y of max(0, Pr[M(x) = y] - e^epsilon Pr[M(x') = y])  <=  delta.

The sum is the largest excess Pr[M(x) in T] - e^epsilon Pr[M(x') in T] over all events T,
attained by T = {y : Pr[M(x) = y] > e^epsilon Pr[M(x') = y]}.  Hence the tight epsilon is
the logarithm of the largest ratio of probabilities, and no enumeration of events is
needed: O(pairs * outputs) steps.  Proof: docs/theory/finite.md.

Probabilities are rationals; a float means the decimal it prints, and a row that holds
floats is scaled to sum to 1.  Results are exact, or rounded toward the weaker promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import require
from discreet.privacy.enclosure import exp_down, log_up
from discreet.privacy.neighbours import Neighbours, datasets, neighbouring_pairs
from discreet.privacy.number import Number, exact, tidy, up
from discreet.privacy.worst import Excess, Rows, worst_excess, worst_ratio

Input = Hashable
Output = Hashable
Law = Mapping[Any, Number]  # output -> probability; Any, since Mapping does not vary with its keys
Pairs = Iterable[tuple[Input, Input]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Witness:
    """Two neighbours and an event that an adversary would bet on, with the event's two probabilities.

    >>> coin = FiniteMechanism({0: {0: 0.75, 1: 0.25}, 1: {0: 0.25, 1: 0.75}}, neighbours=[(0, 1)])
    >>> coin.witness().probabilities
    (Fraction(3, 4), Fraction(1, 4))
    """

    inputs: tuple[Input, Input]
    event: frozenset[Output]
    probabilities: tuple[Fraction, Fraction]


class FiniteMechanism:
    """A mechanism as a table: input -> {output: probability}, with its neighbouring pairs.

    >>> response = FiniteMechanism({0: {0: 0.75, 1: 0.25}, 1: {0: 0.25, 1: 0.75}}, neighbours=[(0, 1)])
    >>> response.epsilon(), response.ratio(), response.delta(0)
    (1.0986122886681098, Fraction(3, 1), 0.5)
    >>> response.witness().event
    frozenset({0})
    """

    def __init__(self, table: Mapping[Any, Law], *, neighbours: Pairs) -> None:
        import numpy as np

        require(len(table) > 0, "at least one input", inputs=len(table))
        self.inputs = tuple(table)
        self.outputs = tuple(dict.fromkeys(y for law in table.values() for y in law))
        self._place = {x: i for i, x in enumerate(self.inputs)}
        self._column = {y: i for i, y in enumerate(self.outputs)}
        self._rows = Rows([self._dense(law) for law in table.values()])
        pairs = dict.fromkeys((self._index(a), self._index(b)) for a, b in neighbours)
        both = [*pairs, *((b, a) for a, b in pairs if (b, a) not in pairs)]
        self._pairs = tuple((a, b) for a, b in both if a != b)
        self._lefts = np.array([a for a, _ in self._pairs], dtype=np.intp)
        self._rights = np.array([b for _, b in self._pairs], dtype=np.intp)

    def _dense(self, law: Law) -> list[Number]:
        row: list[Number] = [0.0] * len(self.outputs)
        rational = not all(isinstance(value, float) for value in law.values())
        if rational:
            row = [0] * len(self.outputs)
        for y, value in law.items():
            row[self._column[y]] = float(value) if isinstance(value, float) else value
        return row

    def _index(self, x: Input) -> int:
        require(x in self._place, "neighbours that are inputs of the table", neighbour=x)
        return self._place[x]

    @classmethod
    def from_function(
        cls, mechanism: Callable[[tuple], Law], *, universe: Sequence[Hashable], n: int, relation: type[Neighbours]
    ) -> FiniteMechanism:
        """Tabulate a function from datasets to laws on all datasets of n rows (at most n under AddRemove).

        >>> from discreet.privacy.neighbours import Replace
        >>> def random_row(rows): return {None: Fraction(1, 2), 0: 0, 1: 0} | {
        ...     row: Fraction(rows.count(row), 2 * len(rows)) for row in rows}
        >>> FiniteMechanism.from_function(random_row, universe=(0, 1), n=3, relation=Replace).delta(0)
        Fraction(1, 6)
        """
        table = {rows: mechanism(rows) for rows in datasets(universe, n=n, relation=relation)}
        return cls(table, neighbours=neighbouring_pairs(universe, n=n, relation=relation))

    @property
    def neighbours(self) -> tuple[tuple[Input, Input], ...]:
        """The neighbouring pairs, each in both directions."""
        return tuple((self.inputs[a], self.inputs[b]) for a, b in self._pairs)

    def law(self, x: Input) -> dict[Output, Fraction]:
        """Pr[M(x) = y] for every output y, exactly."""
        weights, total = self._rows.exact(self._index(x))
        return {y: Fraction(weight, total) for y, weight in zip(self.outputs, weights, strict=True)}

    def ratio(self) -> Fraction | float:
        """e^epsilon: the largest Pr[M(x) = y] / Pr[M(x') = y], exactly; math.inf where an output rules x' out."""
        found = worst_ratio(self._rows, self._lefts, self._rights)
        if found is None:
            return Fraction(1)  # no neighbours: nothing to tell apart
        return math.inf if found[0] is None else found[0]

    def epsilon(self) -> float:
        """The least epsilon for which M is epsilon-DP, rounded up; math.inf if there is none."""
        return _log(self.ratio())

    def delta(self, epsilon: Number) -> float | Fraction:
        """The least delta for which M is (epsilon, delta)-DP: exact where e^epsilon is rational, else rounded up.

        At math.inf it is the largest probability of outputs that are impossible for a neighbour.
        """
        factor, irrational = _factor(epsilon)
        worst = worst_excess(self._rows, self._lefts, self._rights, factor)
        if worst is None:
            return 0.0
        value = worst.mass if factor is None else worst.value(factor)
        return up(value) if irrational and value else tidy(value)

    def epsilon_at(self, delta: Number) -> float:
        """The least epsilon >= 0 for which M is (epsilon, delta)-DP, rounded up; math.inf if there is none.

        In the factor c = e^epsilon the excess is a maximum of lines A - c B, so Newton's method from
        c = 1 is exact: it climbs from line to line and stops, after finitely many steps, on the root.
        """
        target = exact(delta)
        require(0 <= target <= 1, "0 <= delta <= 1", delta=delta)
        factor = Fraction(1)
        while True:
            worst = worst_excess(self._rows, self._lefts, self._rights, factor)
            if worst is None or worst.value(factor) <= target:
                return _log(factor)
            if worst.other == 0:
                return math.inf
            factor = (worst.mass - target) / worst.other

    def witness(self, epsilon: Number | None = None) -> Witness:
        """Where `delta(epsilon)` is attained, or, without epsilon, where the largest ratio is."""
        require(bool(self._pairs), "at least one pair of neighbours", pairs=0)
        if epsilon is None:
            found = worst_ratio(self._rows, self._lefts, self._rights)
            worst = None if found is None else found[1]
        else:
            worst = worst_excess(self._rows, self._lefts, self._rights, _factor(epsilon)[0])
        assert worst is not None  # there are pairs
        return self._name(worst)

    def _name(self, worst: Excess) -> Witness:
        return Witness(
            inputs=(self.inputs[worst.left], self.inputs[worst.right]),
            event=frozenset(self.outputs[y] for y in worst.event),
            probabilities=(worst.mass, worst.other),
        )

    def compose(self, other: FiniteMechanism | Callable[[Output], FiniteMechanism]) -> FiniteMechanism:
        """Run both on the same input; a function chooses the second mechanism after seeing the first output.

        >>> coin = FiniteMechanism({0: {0: 0.75, 1: 0.25}, 1: {0: 0.25, 1: 0.75}}, neighbours=[(0, 1)])
        >>> coin.compose(coin).ratio()
        Fraction(9, 1)
        """
        second = {y: other if isinstance(other, FiniteMechanism) else other(y) for y in self.outputs}
        for mechanism in second.values():
            require(set(mechanism.inputs) == set(self.inputs), "the same inputs", inputs=len(mechanism.inputs))
        table = {
            x: {
                (y, z): p * q
                for y, p in self.law(x).items()
                for z, q in second[y].law(x).items()
            }
            for x in self.inputs
        }  # fmt: skip
        return FiniteMechanism(table, neighbours=self.neighbours)

    def postprocess(self, mapping: Callable[[Output], Output | Law]) -> FiniteMechanism:
        """Send every output through a function, or through a random one that returns a law (a dict).

        >>> coin = FiniteMechanism({0: {0: 0.75, 1: 0.25}, 1: {0: 0.25, 1: 0.75}}, neighbours=[(0, 1)])
        >>> coin.postprocess(lambda y: "constant").epsilon()
        0.0
        """
        images = {y: mapping(y) for y in self.outputs}
        laws = {
            y: {z: exact(p) for z, p in image.items()} if isinstance(image, Mapping) else {image: Fraction(1)}
            for y, image in images.items()
        }
        table: dict[Input, dict[Output, Fraction]] = {}
        for x in self.inputs:
            law = table[x] = {}
            for y, p in self.law(x).items():
                for z, q in laws[y].items():
                    law[z] = law.get(z, Fraction(0)) + p * q
        return FiniteMechanism(table, neighbours=self.neighbours)

    def group(self, size: int) -> FiniteMechanism:
        """The same table, with the pairs that are at most `size` steps of neighbours apart."""
        require(size >= 1, "size >= 1", size=size)
        near: dict[Input, set[Input]] = {x: set() for x in self.inputs}
        for a, b in self.neighbours:
            near[a].add(b)
        pairs: list[tuple[Input, Input]] = []
        for x in self.inputs:
            reached = {x}
            for _ in range(size):
                reached |= {b for a in reached for b in near[a]}
            pairs.extend((x, b) for b in reached if b != x)
        return FiniteMechanism({x: self.law(x) for x in self.inputs}, neighbours=pairs)


def _factor(epsilon: Number) -> tuple[Fraction | None, bool]:
    """e^epsilon from below (None for infinity), and whether it was rounded."""
    if isinstance(epsilon, float) and epsilon == math.inf:
        return None, False
    value = exact(epsilon)
    require(value >= 0, "epsilon >= 0", epsilon=epsilon)
    return exp_down(value), value != 0


def _log(ratio: Fraction | float) -> float:
    return math.inf if isinstance(ratio, float) else up(log_up(Fraction(ratio)))
