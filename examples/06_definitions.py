"""What the definition says and what it does not, on mechanisms small enough to enumerate.

To publish one person's record half of the time has a tiny statistical distance and no privacy.  A group pays for each
of its members.  An answer may be clamped for nothing; to draw it again until it looks right has a price.
"""

import math
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import altair as alt

from discreet.privacy import FiniteMechanism, Replace


# --8<-- [start:row]
def one_row(records: tuple[int, ...]) -> dict[int | None, Fraction]:
    """Nothing, or one of the records in the clear."""
    law: dict[int | None, Fraction] = defaultdict(Fraction, {None: Fraction(1, 2)})
    for record in records:
        law[record] += Fraction(1, 2 * len(records))
    return law


leak = FiniteMechanism.from_function(one_row, universe=(0, 1), n=4, relation=Replace)
print(f"one of four records, half of the time: delta {float(leak.delta(0))} at epsilon 0, and epsilon {leak.epsilon()}")
groups = [{"people": k, "delta": float(leak.group(k).delta(0))} for k in (1, 2, 3, 4)]
print(f"a group of two has delta {groups[1]['delta']}, one of all four {groups[3]['delta']}")
# --8<-- [end:row]


# --8<-- [start:again]
def noisy(true: int) -> dict[int, Fraction]:
    """The count plus noise that halves with each step: epsilon ln 2."""
    tail = {-60: Fraction(2, 3) / 2 ** (60 + true), 60: Fraction(2, 3) / 2 ** (60 - true)}
    return {y: tail.get(y, Fraction(1, 3) / 2 ** abs(y - true)) for y in range(-60, 61)}


noise = FiniteMechanism({true: noisy(true) for true in (0, 1)}, neighbours=[(0, 1)])
at_least_0: dict[object, int] = {y: max(0, y) for y in range(-60, 61)}
clamped = noise.postprocess(at_least_0.get)
kept = {true: sum(p for y, p in noisy(true).items() if y >= 0) for true in (0, 1)}
drawn_again = FiniteMechanism(
    {true: {y: p / kept[true] for y, p in noisy(true).items() if y >= 0} for true in (0, 1)}, neighbours=[(0, 1)]
)
for name, one in (("noise", noise), ("clamped at 0", clamped), ("drawn again until >= 0", drawn_again)):
    print(f"{name}: e^epsilon = {float(one.ratio()):.4g}")
assert math.isinf(leak.epsilon())
assert noise.ratio() == clamped.ratio() == 2 < drawn_again.ratio()
# --8<-- [end:again]

Path("out").mkdir(exist_ok=True)
chart = alt.Chart(alt.Data(values=groups), title="One of four records, half of the time").mark_bar()
people = alt.X("people:O", title="people who change together", axis=alt.Axis(labelAngle=0))
chart.encode(x=people, y=alt.Y("delta:Q", title="delta, at any epsilon")).properties(width=240).save(
    "out/06_definitions.svg"
)
