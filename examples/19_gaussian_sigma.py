"""How much Gaussian noise (epsilon, delta) needs: the textbook's formula, and the least.

The formula sqrt(2 ln(1.25 / delta)) / epsilon was proven for epsilon below 1.  There it asks for a third to a half too
much; from about epsilon 9 on it promises what it does not keep.  Here sigma is the least for noise on a fine lattice.
"""

import math
from pathlib import Path

import altair as alt

from discreet.mechanisms import Gaussian

rows = []
for epsilon in (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0):
    least = Gaussian(epsilon=epsilon, delta=1e-5, sensitivity=100)  # a lattice finer than what one person changes
    formula = math.sqrt(2 * math.log(1.25e5)) / epsilon
    sigma = float(least.sigma) / 100
    print(f"epsilon {epsilon:5.2f}: least {sigma:8.4f}, formula {formula:8.4f}, {formula / sigma - 1:+.0%}")
    rows += [{"epsilon": epsilon, "sigma": s, "who": who} for who, s in (("least", sigma), ("formula", formula))]

Path("out").mkdir(exist_ok=True)
log = alt.Scale(type="log")
chart = alt.Chart(alt.Data(values=rows), title="Noise for sensitivity 1, delta 1e-5").mark_line(point=True)
x, y = alt.X("epsilon:Q", scale=log), alt.Y("sigma:Q", scale=log)
chart.encode(x=x, y=y, color=alt.Color("who:N", title=None)).save("out/19_gaussian_sigma.svg")
