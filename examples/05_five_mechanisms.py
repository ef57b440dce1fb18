"""Five questions, five mechanisms, one budget: each is paid for before it is drawn and says how wrong it may be.

Neighbours: one patient's record is left empty; how many patients there are is public.  The patients are made up.
"""

from pathlib import Path

import altair as alt
import numpy as np

from discreet import ApproxDP
from discreet.composition import PrivacyFilter
from discreet.mechanisms import Gaussian, Laplace, PermuteAndFlip, RandomizedResponse, SparseVector
from discreet.privacy.neighbours import NullRow

N, BETA = 10_000, 0.05  # patients; the probability with which an error bar may fail
fake = np.random.default_rng(2026)  # makes the patients, never the noise
ward = np.bincount(fake.choice(5, N, p=[0.30, 0.18, 0.12, 0.15, 0.25]))
diagnosis = np.bincount(fake.choice(6, N, p=[0.20, 0.15, 0.21, 0.10, 0.26, 0.08]))
week = np.bincount(fake.choice(12, N, p=np.array([6, 7, 8, 9, 8, 8, 12, 11, 8, 8, 8, 7]) / 100))
tens = int((fake.lognormal(7, 0.8, N).clip(0, 5000) // 10).sum())  # costs, clamped, in steps of 10
smokes = (fake.random(N) < 0.23).astype(np.int64)

budget, spent = PrivacyFilter(ApproxDP(2.0, 1e-6)), []


def show(question: str, said: object, error: float) -> None:
    spent.append({"question": question, "rho": float(budget.spent.rho)})  # type: ignore[union-attr]
    print(f"{question:34}{said!s:34}within {error:.3g} with probability {1 - BETA:.0%}")


laplace = Laplace(epsilon=0.02, sensitivity=1)  # a patient lies in one ward, so the whole histogram moves by one
budget.spend(laplace.event())
show("patients in each ward", laplace(ward), laplace.accuracy(BETA, size=5))

gaussian = Gaussian(epsilon=0.1, delta=1e-6, sensitivity=500)  # a patient moves the sum by at most 5000: 500 steps
budget.spend(gaussian.event())
show("total cost", 10 * gaussian(tens), 10 * gaussian.accuracy(BETA))

# Only the name of the winner comes out.
choose = PermuteAndFlip(epsilon=0.02, sensitivity=1, monotone=True, neighbours=NullRow)
budget.spend(choose.event())
show("most common diagnosis", f"number {choose(diagnosis)}", choose.accuracy(BETA, size=6))

response = RandomizedResponse(epsilon=0.3)  # each patient's own coin: nobody need be trusted
budget.spend(response.event())
show("share who smoke", f"{response.estimate(response(smokes)):.1%}", response.error(N, BETA))

# Three weeks may be named, at the price of three, however many are not.
sparse = SparseVector(epsilon=0.2, sensitivity=1, threshold=950, count=3, monotone=True, neighbours=NullRow)
budget.spend(sparse.event())
show("weeks with 950 admissions", 1 + np.flatnonzero(sparse(week)), sparse.accuracy(BETA, queries=12))

print(f"\nin all at most {budget.cap}\nspent  {budget.spent}\nleft   {budget.remaining}")

Path("out").mkdir(exist_ok=True)
x = alt.X("rho:Q", title="rho spent so far", scale=alt.Scale(type="sqrt"))
y = alt.Y("question:N", sort=None, title=None)
alt.Chart(alt.Data(values=spent)).mark_bar().encode(x=x, y=y).save("out/05_five_mechanisms.svg")
