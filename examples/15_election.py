"""Who won, and who came last: the winner of an election without the counts.

A voter who stays away lowers one count, so counts are monotone under AddRemove and the noise is halved.
The candidate with the fewest votes is the one whose negative count is the highest.
"""

from pathlib import Path

import altair as alt

from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import PermuteAndFlip
from discreet.privacy import AddRemove

VOTES = {"Ada": 412, "Blaise": 405, "Carl": 371, "Emmy": 120, "Kurt": 9}
names, votes = list(VOTES), list(VOTES.values())


def choose(epsilon: float) -> PermuteAndFlip:
    return PermuteAndFlip(epsilon=epsilon, sensitivity=1, monotone=True, neighbours=AddRemove)


winner = names[choose(0.5)(votes, rng=SeededRandom(1))]
last = names[choose(0.5)([-count for count in votes], rng=SeededRandom(1))]
margin = choose(0.5).accuracy(beta=0.05, size=len(votes))
print(f"winner {winner}, last {last}; within {margin} votes of the truth with probability 0.95")

points = [
    {"epsilon": epsilon, "candidate": name, "chance": float(chance)}
    for epsilon in (0.01, 0.03, 0.1, 0.3, 1)
    for name, chance in zip(names, choose(epsilon).probabilities(votes), strict=True)
]
picture = (
    alt.Chart(alt.Data(values=points), title="Who is declared the winner")
    .mark_bar()
    .encode(
        x=alt.X("epsilon:O", title="epsilon"),
        y=alt.Y("chance:Q", title="probability", stack="normalize"),
        color=alt.Color("candidate:N", title=None, sort=names),
    )
)
Path("out").mkdir(exist_ok=True)
picture.properties(width=360, height=260).save("out/election.svg")
