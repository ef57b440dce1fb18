"""An attack, twice: on an office that rounds its answers, and on a curator.

A school knows of each of 300 pupils whether they get help.  It answers counts about any group, rounded or with a little
noise, and believes that nobody can be picked out.  The attacker asks harmless questions and solves a linear programme.
Then the same questions go to a curator with a budget.
"""

from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

import discreet as dc
from discreet.attacks import Rounded, Sticky, Suppressed, random_subsets, reconstruct, reconstruction_bound
from discreet.privacy import AddRemove
from discreet.queries import Dense
from discreet.release import IndependentNoise

# --8<-- [start:school]
pupils, questions = 300, 1500
helped = np.random.default_rng(8).integers(0, 2, pupils)
groups = random_subsets(pupils, questions, seed=9)  # "how many of these get help?"
# --8<-- [end:school]

# --8<-- [start:naive]
salt = b"kept in the office"
offices = {
    "exact, but nothing below 10": Suppressed(helped, threshold=10),
    "rounded to multiples of 5": Rounded(helped, base=5),
    "the same noise up to 2 each time": Sticky(helped, noise=2, salt=salt),
    "the same noise up to 5 each time": Sticky(helped, noise=5, salt=salt),
}
points = []
for name, office in offices.items():
    known = 1 - reconstruct(groups, office.answer(groups)).wrong(helped)
    points.append({"who": name, "known": known})
    print(f"{name:36} {known:6.1%} of the secrets are known")
# --8<-- [end:naive]

# --8<-- [start:curator]
domain = dc.Domain({"pupil": dc.Integer(0, pupils - 1), "helped": dc.Boolean()})
rows = pd.DataFrame({"pupil": np.arange(pupils), "helped": helped.astype(bool)})
counts = Dense(np.kron(groups, [0, 1]), domain)
for epsilon in (0.5, 1, 4):
    budget = dc.ApproxDP(epsilon, 1e-6)
    table = dc.Table(rows, domain=domain, unit=None)
    curator = dc.Curator({"pupils": table}, budget=dc.ApproxDP(epsilon, 2e-6), ledger=":memory:")
    release = curator.release(counts, table="pupils", budget=budget, mechanism=IndependentNoise)
    known = 1 - reconstruct(groups, release.answers).wrong(helped)
    most = reconstruction_bound(dc.ApproxDP(epsilon, 1e-6, neighbours=AddRemove).to_replace())
    points.append({"who": f"discreet, epsilon {epsilon}", "known": known})
    print(f"{'discreet, epsilon ' + str(epsilon):36} {known:6.1%}; no attack can expect more than {most:.1%}")
# --8<-- [end:curator]

picture = alt.Chart(alt.Data(values=points), title="1,500 harmless counts about 300 pupils").mark_bar()
x = alt.X("known:Q", title="secrets known to the attacker", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
Path("out").mkdir(exist_ok=True)
chart = picture.encode(x=x, y=alt.Y("who:N", sort=None, title=None, axis=alt.Axis(labelLimit=260)))
(chart + alt.Chart().mark_rule(strokeDash=[4, 3]).encode(x=alt.datum(0.5))).properties(width=400).save(
    "out/reconstruction.svg"
)
