"""How private an election is, exactly, in which one extra ballot is drawn and one ballot is drawn again.

All votes of two people for five candidates, one of whom may change; the law of the winner in rationals.
The largest ratio is epsilon, the pair that shows it is printed, and delta falls as epsilon grows.
"""

from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import altair as alt

from discreet.privacy import FiniteMechanism

CANDIDATES = ("ant", "bee", "cat", "dog", "elk")


def winner(votes: tuple[str, ...]) -> dict[str, Fraction]:
    """One more voter votes by a coin; then one of all ballots is drawn again; ties are broken by a coin."""
    law: dict[str, Fraction] = dict.fromkeys(CANDIDATES, Fraction(0))
    for row, extra, again in product(range(len(votes) + 1), CANDIDATES, CANDIDATES):
        ballots = [*votes, extra]
        ballots[row] = again
        count = Counter(ballots)
        first = [name for name in count if count[name] == max(count.values())]
        for name in first:
            law[name] += Fraction(1, (len(votes) + 1) * 25 * len(first))
    return law


# --8<-- [start:exact]
inputs = list(product(CANDIDATES, repeat=2))
pairs = [(a, b) for a in inputs for b in inputs if sum(x != y for x, y in zip(a, b, strict=True)) == 1]
election = FiniteMechanism({votes: winner(votes) for votes in inputs}, neighbours=pairs)
print(f"epsilon {election.epsilon():.4f}, shown by {election.witness()}")
curve = [{"epsilon": e / 20, "delta": float(election.delta(e / 20))} for e in range(36)]
print(f"at epsilon 1 it is private with delta {curve[20]['delta']:.4f}, at epsilon 0 with {curve[0]['delta']:.4f}")
# --8<-- [end:exact]

Path("out").mkdir(exist_ok=True)
chart = alt.Chart(alt.Data(values=curve), title="The election, exactly").mark_line()
chart.encode(x="epsilon:Q", y="delta:Q").save("out/18_noisy_election.svg")
