"""A salary survey in which nobody is trusted: every answer is randomised before it leaves the desk.

A union asks 60,000 people in which of 40 bands their salary lies, and whether they would strike.  The servers, the
union and everyone who ever breaks in see noisy reports only; each report is epsilon-DP by itself.  The union still
learns the distribution, its quartiles and the mean, with error bars.
"""

from pathlib import Path

import altair as alt
import numpy as np

from discreet.local import OneBitMean, RandomizedResponse, Server, choose, run

# --8<-- [start:people]
rng, people, bands = np.random.default_rng(4), 60_000, 40
salary = np.exp(rng.normal(8.0, 0.45, people)).clip(500, 10_499)  # a month; made up
band = ((salary - 500) // 250).astype(int)  # 40 bands of 250
strike = (rng.random(people) < np.where(salary < 2500, 0.6, 0.3)).astype(int)
# --8<-- [end:people]

# --8<-- [start:choose]
plan = choose("cdf", epsilon=1.0, size=bands, n=people)  # which protocol errs least, before anybody reports
print(plan, end="\n\n")
# --8<-- [end:choose]

# --8<-- [start:collect]
protocol = plan.protocol
half = people // 2
east, west = protocol.server(), protocol.server()
east.add(protocol.client().report(band[:half]))  # reports, and nothing else, travel
west.add(protocol.client().report(band[half:]))
servers = Server.from_bytes(protocol, east.to_bytes())
servers.merge(west)
running, error = servers.estimate(), servers.error(0.05)
# --8<-- [end:collect]

# --8<-- [start:answers]
monotone = np.maximum.accumulate(np.clip(running, 0, 1))  # post-processing is free
for quarter in (0.25, 0.5, 0.75):
    found = 750 + 250 * int(np.searchsorted(monotone, quarter))
    print(f"{quarter:.0%} earn at most about {found:5}; in truth {np.quantile(salary, quarter):7.0f}")
mean = run(OneBitMean(epsilon=1.0, lower=500, upper=10_500), salary)
print(f"mean {mean.estimate():.0f} +- {mean.error(0.05):.0f}; in truth {salary.mean():.0f}")
vote = run(RandomizedResponse(epsilon=0.5, size=2), strike)
print(f"would strike: {vote.estimate()[1]:.1%} +- {vote.error(0.05)[1]:.1%}; in truth {strike.mean():.1%}")
print("in all, a person who answers all three loses at most epsilon 2.5, whoever holds the reports")
# --8<-- [end:answers]

truth = np.cumsum(np.bincount(band, minlength=bands)) / people
points = [
    {"salary": 750 + 250 * i, "share": float(value), "who": who, "low": float(low), "high": float(high)}
    for who, values, width in (("in truth", truth, 0 * error), ("reported privately", running, error))
    for i, (value, low, high) in enumerate(zip(values, values - width, values + width, strict=True))
]
base = alt.Chart(alt.Data(values=points), title="Who earns at most so much").encode(
    x=alt.X("salary:Q", title="a month"), color=alt.Color("who:N", title=None)
)
band_of = base.mark_area(opacity=0.25).encode(y=alt.Y("low:Q", title="share of people"), y2="high:Q")
Path("out").mkdir(exist_ok=True)
(band_of + base.mark_line().encode(y="share:Q")).properties(width=480, height=260).save("out/salary_survey.svg")
