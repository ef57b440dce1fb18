"""A count that is published every minute while the data comes in, for the price of one release.

Emergency calls, at most 5 a minute counted, over a year of minutes.  The counter is saved, moved and goes on.
"""

import tempfile
from pathlib import Path

import altair as alt
import numpy as np

import discreet as dc
from discreet.structured import ContinualCounter

minutes = 365 * 24 * 60
calls = np.random.default_rng(4).poisson(0.8, minutes)
true = np.minimum(calls, 5).cumsum()

# --8<-- [start:counter]
counter = ContinualCounter(horizon=minutes, upper=5, budget=dc.ZCDP(0.1))
print(f"never off by more than {counter.accuracy(beta=0.05):.0f} calls, with probability 0.95;", counter.privacy())

counter.add(int(calls[0]))  # one minute
counter.add_many(calls[1 : 24 * 60])  # the rest of a day, with a count for every minute
print(f"after a day: {counter.value:,.0f} +- {counter.error(beta=0.05):.0f}; true {true[24 * 60 - 1]:,}")

path = Path(tempfile.mkdtemp()) / "calls.json"
counter.save(path)  # as secret as the calls; this one is closed now
moved = ContinualCounter.load(path)  # the file is moved aside: a counter goes on in one place only
counted = moved.add_many(calls[24 * 60 :])
print(f"after a year: {moved.value:,.0f} +- {moved.error(beta=0.05):.0f}; true {true[-1]:,}")
# --8<-- [end:counter]

pure = ContinualCounter(horizon=minutes, upper=5, budget=dc.PureDP(1.0))
pure.add_many(calls)
print(f"\nwith pure DP, epsilon 1, from a tree: {pure.value:,.0f} +- {pure.error(beta=0.05):.0f}")

Path("out").mkdir(exist_ok=True)
off = np.asarray(counted) - true[24 * 60 :]
rows = [{"day": 1 + i / 1440, "error": float(off[i])} for i in range(0, len(off), 720)]
chart = alt.Chart(alt.Data(values=rows), title="A year of running counts: the error, twice a day").mark_line()
chart.encode(x="day:Q", y=alt.Y("error:Q", title="calls")).save("out/49_running_count.svg")
