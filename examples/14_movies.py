"""The most popular of a thousand films, when four people were asked, and what the truth costs.

Forrest Gump has two votes, two other films have one, 997 have none.  The exponential mechanism and
permute-and-flip choose it with the probabilities drawn here; the dashed line is what the exponential
mechanism says when one of the two fans claims another film.
"""

from pathlib import Path

import altair as alt

from discreet.mechanisms import Exponential, PermuteAndFlip

TRUTH = [2, 1, 1] + [0] * 997
CLAIM = [1, 2, 1] + [0] * 997  # one fan of Forrest Gump says The Revenant

points = []
for step in range(2, 81):
    epsilon = step / 4
    flip, exponential = (m(epsilon=epsilon, sensitivity=1) for m in (PermuteAndFlip, Exponential))
    for name, chance in (
        ("permute-and-flip", flip.probabilities(TRUTH)[0]),
        ("exponential", exponential.probabilities(TRUTH)[0]),
        ("exponential, one fan denies", exponential.probabilities(CLAIM)[0]),
    ):
        points.append({"epsilon": epsilon, "chance": float(chance), "mechanism": name})

for epsilon in (1, 5, 10):
    row = {p["mechanism"]: p["chance"] for p in points if p["epsilon"] == epsilon}
    print(f"epsilon {epsilon:2}  " + "  ".join(f"{name} {chance:.6f}" for name, chance in row.items()))

picture = (
    alt.Chart(alt.Data(values=points), title="A thousand films, four people")
    .mark_line()
    .encode(
        x=alt.X("epsilon:Q", title="epsilon"),
        y=alt.Y("chance:Q", title="probability of Forrest Gump"),
        color=alt.Color("mechanism:N", title=None),
        strokeDash=alt.StrokeDash("mechanism:N", title=None),
    )
)
Path("out").mkdir(exist_ok=True)
picture.properties(width=480, height=260).save("out/movies.svg")
