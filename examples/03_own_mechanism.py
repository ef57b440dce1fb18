"""From a theorem to a mechanism to an attack: a private majority vote, and the slip that an audit finds.

Theorem.  Of n people, c vote yes.  Say yes with probability 1 / (1 + a^(n - 2 c)).  If a^2 <= e^epsilon, this is
epsilon-DP for one vote changed: c moves by one, and 1 <= (1 + a^2 t) / (1 + t) <= a^2 for t > 0; likewise for no.
"""

# --8<-- [start:mechanism]
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import altair as alt

from discreet import PureDP
from discreet.attacks import audit
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.samplers import bernoulli
from discreet.privacy import FiniteMechanism, Replace


@dataclass(frozen=True, kw_only=True)
class Vote:
    """Says yes or no for the crowd."""

    a: Fraction  # rational, so that the coin is exact
    n: int  # public

    def yes(self, count: int) -> Fraction:
        return 1 / (1 + self.a ** (self.n - 2 * count))

    def __call__(self, count: int, *, rng: RandomSource | None = None) -> int:
        return int(bernoulli(self.yes(count), rng=rng))

    def privacy(self) -> PureDP:
        return PureDP(1, neighbours=Replace)


# --8<-- [end:mechanism]


# --8<-- [start:check]
vote = Vote(a=Fraction("1.64"), n=21)  # below e^(1/2) = 1.6487
slip = Vote(a=Fraction("2.71"), n=21)  # "a <= e^epsilon" forgets that a vote counts on both sides
for name, one in (("ours", vote), ("slip", slip)):
    laws = {c: {1: one.yes(c), 0: 1 - one.yes(c)} for c in range(one.n + 1)}
    exactly = FiniteMechanism(laws, neighbours=[(c, c + 1) for c in range(one.n)]).epsilon()  # all inputs and outputs
    found = audit(one, (9, 10), 20_000)  # a black box: nothing but answers
    print(f"{name}: claims 1, is exactly {exactly:.4f}; audited >= {found.epsilon:.2f}; refuted: {found.violates()}")
# --8<-- [end:check]

Path("out").mkdir(exist_ok=True)
points = [
    {"votes": c, "chance": float(one.yes(c)), "vote": name}
    for name, one in (("epsilon 1", vote), ("the slip, epsilon 2", slip))
    for c in range(22)
]
chart = alt.Chart(alt.Data(values=points), title="How often the answer is yes").mark_line(point=True)
chart = chart.encode(x=alt.X("votes:Q", title="votes for yes, of 21"), y=alt.Y("chance:Q", title=None), color="vote:N")
chart.properties(width=480, height=260).save("out/03_own_mechanism.svg")
