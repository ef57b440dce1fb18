"""The error of k counting queries under each composition theorem, at (1, 1e-6).

Basic composition wins for a handful of queries, the closed form of the notes never does
before 111, optimal composition beats both, and Gaussian noise beats all of them soon.
"""

from pathlib import Path

import altair as alt

from discreet.composition import noise_forecasts
from discreet.privacy import ApproxDP

COUNTS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
TARGET = ApproxDP(1.0, 1e-6)

points = [
    {"queries": k, "method": row.name, "error": row.alpha}
    for k in COUNTS
    for row in noise_forecasts(k, sensitivity=1, target=TARGET, beta=0.05)
]
at_hundred = {point["method"]: point["error"] for point in points if point["queries"] == 100}

print("largest error of 100 counts, with probability 0.95")
for method, error in sorted(at_hundred.items(), key=lambda pair: pair[1]):
    print(f"  {method:<22} {error:8.1f}")

picture = (
    alt.Chart(alt.Data(values=points))
    .mark_line(point=True)
    .encode(
        x=alt.X("queries:Q", title="queries", scale=alt.Scale(type="log")),
        y=alt.Y("error:Q", title="largest error (counts)", scale=alt.Scale(type="log")),
        color=alt.Color("method:N", title=None),
    )
)
Path("out").mkdir(exist_ok=True)
picture.properties(width=480, height=280, title="Answering k queries at epsilon 1, delta 1e-6").save(
    "out/composition_error.svg"
)
