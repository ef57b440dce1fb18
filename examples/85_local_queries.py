"""Learning without a curator: what statistical queries can learn, and the parity that they cannot."""

from pathlib import Path

import altair as alt
import numpy as np

from discreet.learning import ParityLearner, learn_conjunction
from discreet.queries.statistical import RowFunction

rng = np.random.default_rng(0)

# --8<-- [start:oracle]
from discreet.local import LocalStatisticalOracle, users_needed

n = users_needed(4, tau=0.1, epsilon=1.0, beta=0.05)
smokes, fever, cough, tired = symptoms = rng.integers(0, 2, (4, n))
oracle = LocalStatisticalOracle((symptoms.T, smokes & cough), queries=4, epsilon=1.0)
print(f"{n:,} users, one bit from each, every answer within {oracle.tolerance(0.05).population:.2f}")
print("ill is the conjunction of columns", learn_conjunction(oracle, d=4, alpha=0.4).literals)
# --8<-- [end:oracle]

# --8<-- [start:parity]
from discreet.local import ParityAdversary, parity_users

secret = rng.integers(0, 2, 30)
adversary = ParityAdversary(d=30, tau=0.1, queries=31)
learn_conjunction(adversary, d=30, alpha=0.4)
guess = RowFunction(lambda rows: (-1) ** (rows @ [*secret, 1]))  # even the right guess is answered by nothing
print(f"is it the secret? {adversary.answer([guess])[0]:+.2f}; {adversary.left:,} parities of {2**30:,} are left")

rows = rng.integers(0, 2, (3000, 30))
found = ParityLearner(epsilon=1.0).fit(rows, rows @ secret % 2).parity_
print("a curator finds it from 3,000 rows:", found is not None and bool((found == secret).all()))
print("users that any local protocol needs:", {d: f"{parity_users(d, epsilon=1.0):,}" for d in (30, 60, 90)})
# --8<-- [end:parity]

Path("out").mkdir(exist_ok=True)
shown = [{"bits": d, "users": float(parity_users(d, epsilon=1.0))} for d in range(30, 121, 10)]
chart = alt.Chart(alt.Data(values=shown), title="Users that a parity needs in the local model").mark_line(point=True)
chart.encode(x="bits:Q", y=alt.Y("users:Q", scale=alt.Scale(type="log"))).save("out/85_local_queries.svg")
