"""Audit a mechanism of your own, and training that cannot be run twice.

A count with noise for half of its sensitivity claims epsilon = 1 and loses 2: the audit shows it from outputs alone.
Noisy training is audited in mu, from two worlds, or in epsilon from one run with many canaries.
"""

from pathlib import Path

import altair as alt
import numpy as np

from discreet.attacks import audit, audit_gaussian, audit_one_run
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms import Gaussian, Laplace
from discreet.privacy import GaussianDP, PureDP


# --8<-- [start:own]
class Visits:
    """How many visits there were, where a patient has two at most.  It forgot the two."""

    inputs = (10, 12)  # with a patient who was there twice, and without

    def __call__(self, value: int, *, rng: RandomSource | None = None) -> int:
        return Laplace(epsilon=1, sensitivity=1)(value, rng=rng)  # type: ignore[return-value]

    def privacy(self) -> PureDP:
        return PureDP(1)


found = audit(Visits(), Visits.inputs, samples=20_000)
print(f"claimed {found.claimed}; epsilon is at least {found.epsilon:.2f}, because of: {found.event}")
print("the claim is false" if found.violates() else "the claim may hold")
# --8<-- [end:own]

# --8<-- [start:gaussian]
noisy = Gaussian.with_sigma(50, sensitivity=40)  # 0.8-GDP, up to the lattice
worlds = audit_gaussian(noisy, (0, 40), samples=100_000)
print(f"mu is at least {worlds.mu:.3f}; sold as 0.7: {'caught' if worlds.violates(GaussianDP(0.7)) else 'not seen'}")
# --8<-- [end:gaussian]

# --8<-- [start:run]
rng = np.random.default_rng(0)
included = rng.random(5000) < 0.5  # a fair coin for each canary
scores = included + rng.normal(0, 1, 5000)  # stands for: how small its loss is after training
run = audit_one_run(scores, included, delta=1e-5)
honest = GaussianDP(1).to_approx(1e-5).epsilon
print(f"one run: {run.right} of {run.guesses} guesses right: epsilon is at least {run.epsilon:.2f} of {honest:.2f}")
# --8<-- [end:run]

Path("out").mkdir(exist_ok=True)
shown = [("a count, sold as epsilon 1", 1.0, found.epsilon), ("one run of training", float(honest), run.epsilon)]
rows = [{"what": w, "figure": f, "of": o} for w, c, b in shown for o, f in (("claimed", c), ("at least", b))]
chart = alt.Chart(alt.Data(values=rows), title="Claims, and what audits find").mark_bar()
chart = chart.encode(x=alt.X("figure:Q", title="epsilon"), y=alt.Y("what:N", title=None), yOffset="of:N", color="of:N")
chart.save("out/98_audit.svg")
