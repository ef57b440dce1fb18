"""Asking again: a ledger for every user, and devices that report daily from one private memory."""

from pathlib import Path

import altair as alt
import numpy as np

rng = np.random.default_rng(0)

# --8<-- [start:rounds]
from discreet.errors import BudgetExhausted
from discreet.local import OneBitMean, Question, Rounds

salaries = rng.normal(52_000, 3000, 60_000).clip(0, 200_000)
rounds = Rounds(salaries, cap=1, interaction="full")
wide = OneBitMean(epsilon="0.5", lower=0, upper=200_000)
guess = rounds.ask([Question(wide, range(60_000))])[0].estimate()
print(f"a first guess: {guess:,.0f}; every user has {rounds.ledger.remaining(0)} left")
again = Question(OneBitMean(epsilon="0.4", lower=0, upper=200_000), range(60_000))
print(f"once more: {rounds.ask([again])[0].estimate():,.0f}, truly {salaries.mean():,.0f}")
try:
    rounds.ask([again])
except BudgetExhausted as refusal:
    print("a third time:", refusal)
# --8<-- [end:rounds]

# --8<-- [start:memory]
from discreet.local import Memoised, RandomizedResponse

daily = Memoised(RandomizedResponse(epsilon=2, size=4), instant=1.5, periods=3)  # a value for each of three months
devices = daily.devices()
devices.begin(rng.choice(4, 100_000, p=[0.5, 0.3, 0.15, 0.05]))
shown = []
for day in range(3):
    server = daily.server()
    server.add(devices.report())
    shown += [{"day": day, "value": v, "share": float(s)} for v, s in enumerate(server.estimate())]
    print(f"day {day}:", server.estimate().round(3))
print(f"one report: epsilon {daily.once():.2f}; all reports for three months: {daily.lifetime()}")
# --8<-- [end:memory]

Path("out").mkdir(exist_ok=True)
chart = alt.Chart(alt.Data(values=shown), title="The same memory, told three times").mark_bar()
chart.encode(x="value:O", xOffset="day:N", y="share:Q", color="day:N").save("out/86_local_memory.svg")
