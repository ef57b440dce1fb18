"""The whole distribution of a column in one release: every range, every quantile, each with its error bar.

Lengths of stay of 50,000 patients, in hours up to a year.  One budget pays for all that is read off afterwards.
"""

from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

import discreet as dc
from discreet.structured import PrefixTree

hours = np.random.default_rng(3).gamma(1.3, 70, 50_000).astype(int)
stays = pd.DataFrame({"hours": hours})
domain = dc.Domain({"hours": dc.Integer(0, 8759)})

# --8<-- [start:prefixes]
prefixes = PrefixTree(domain, budget=dc.ApproxDP(1.0, 1e-6))
print(f"before any row is read: no prefix of 8,760 off by more than {prefixes.accuracy(beta=0.05):.0f} patients")

release = prefixes(stays)
for p in (0.1, 0.5, 0.9, 0.99):
    found, true = release.quantile(p), np.quantile(hours, p)
    print(f"quantile {p:4.0%}: {found.value:4} hours, between {found.low} and {found.high}; true {true:.0f}")

week = release.range(0, 7 * 24)
print(f"at most a week: {week.value:,.0f} ({week.low:,.0f} to {week.high:,.0f}); true {(hours <= 168).sum():,}")
# --8<-- [end:prefixes]

print("\nlargest standard deviation of a prefix, by strategy:")
for name, one in {
    "square root, Gaussian": prefixes,
    "binary tree, Gaussian": PrefixTree(domain, budget=dc.ApproxDP(1.0, 1e-6), branching=2, consistency=False),
    "best tree, pure": PrefixTree(domain, budget=dc.PureDP(1.0)),
    "binary tree, pure": PrefixTree(domain, budget=dc.PureDP(1.0), branching=2, consistency=False),
}.items():
    print(f"{name:>24}: {np.sqrt(one.variances().max()):6.1f} patients")

Path("out").mkdir(exist_ok=True)
ends = range(0, 600, 12)
rows = [{"hours": h, "off": release.range(0, h).value - int((hours <= h).sum())} for h in ends]
chart = alt.Chart(alt.Data(values=rows), title="Patients who stayed at most so long").mark_line(point=True)
chart.encode(x="hours:Q", y=alt.Y("off:Q", title="released less true, of 50,000")).save("out/48_prefixes.svg")
