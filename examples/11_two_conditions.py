"""Which of two medical conditions is more common?  How often the private answer is wrong.

With b patients more for B than for A the exponential mechanism errs with probability
1 / (1 + e^(epsilon b / 2)); the bound in the notes is twice too large, and permute-and-flip halves it.
"""

import math
from pathlib import Path

import altair as alt

from discreet.mechanisms import Exponential, PermuteAndFlip

EPSILON = 1
exponential, flip = Exponential(epsilon=EPSILON, sensitivity=1), PermuteAndFlip(epsilon=EPSILON, sensitivity=1)

points = []
for gap in range(21):
    scores = [0, gap]
    points += [
        {"gap": gap, "law": "bound of the notes", "wrong": min(1.0, 2 * math.exp(-EPSILON * gap / 2))},
        {"gap": gap, "law": "exponential mechanism", "wrong": float(exponential.probabilities(scores)[0])},
        {"gap": gap, "law": "permute-and-flip", "wrong": math.exp(-EPSILON * gap / 2) / 2},
    ]
for row in points[30:33]:
    print(f"gap {row['gap']:2d}   {row['law']:22s} Pr[wrong] = {row['wrong']:.7f}")
print("one draw of each at gap 10:", "AB"[exponential([0, 10])], "AB"[flip([0, 10])])

picture = (
    alt.Chart(alt.Data(values=points))
    .mark_line(point=True)
    .encode(
        x=alt.X("gap:Q", title="patients more with B"),
        y=alt.Y("wrong:Q", title="probability of answering A", scale=alt.Scale(type="log")),
        color=alt.Color("law:N", title=None),
    )
)
Path("out").mkdir(exist_ok=True)
picture.properties(width=480, height=260, title="Which condition is more common?  epsilon = 1").save(
    "out/two_conditions.svg"
)
