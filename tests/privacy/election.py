"""The election of the notes: a vote is added, another is replaced, and the plurality wins."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from discreet.privacy import FiniteMechanism, Replace
from discreet.privacy.neighbours import datasets, neighbouring_pairs

CANDIDATES = ("Trump", "Legault", "Trudeau", "Trebek", "Drake")


def plurality(votes: tuple[str, ...]) -> dict[str, Fraction]:
    """The winner, ties broken uniformly."""
    count = Counter(votes)
    most = max(count.values())
    winners = [name for name in count if count[name] == most]
    return {name: Fraction(1, len(winners)) for name in winners}


def result(votes: tuple[str, ...]) -> dict[str, Fraction]:
    """One more voter votes uniformly; then one of all the rows is chosen uniformly and votes again, uniformly."""
    worlds = Fraction(1, (len(votes) + 1) * len(CANDIDATES) ** 2)
    law = dict.fromkeys(CANDIDATES, Fraction(0))
    for row in range(len(votes) + 1):
        for extra in CANDIDATES:
            for again in CANDIDATES:
                ballots = [*votes, extra]
                ballots[row] = again
                for name, p in plurality(tuple(ballots)).items():
                    law[name] += worlds * p
    return law


def election(n: int) -> FiniteMechanism:
    """The mechanism on all votes of n people, one of whom may change their vote."""
    laws: dict[tuple[str, ...], dict[str, Fraction]] = {}

    def law(votes: tuple[str, ...]) -> dict[str, Fraction]:
        key = tuple(sorted(votes))  # the order of the votes does not matter to the result
        if key not in laws:
            laws[key] = result(key)
        return laws[key]

    table = {votes: law(votes) for votes in datasets(CANDIDATES, n=n, relation=Replace)}
    return FiniteMechanism(table, neighbours=neighbouring_pairs(CANDIDATES, n=n, relation=Replace))
