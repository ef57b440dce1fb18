"""Rebuild everybody's secret from harmless counts, and fail to do so against a curator.

200 people have one secret bit each.  800 counts of random groups, each off by up to 1.5, are enough to know nearly all.
The same counts released by a curator at epsilon = 1 tell the attacker little more than a coin.
"""

from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

import discreet as dc
from discreet.attacks import Sticky, random_subsets, reconstruct, reconstruction_bound
from discreet.privacy import AddRemove
from discreet.queries import Dense
from discreet.release import IndependentNoise

people, questions = 200, 800
secret = np.random.default_rng(0).integers(0, 2, people)
groups = random_subsets(people, questions, seed=1)

# --8<-- [start:naive]
naive = Sticky(secret, noise=1.5, salt=b"kept by the office")
stolen = reconstruct(groups, naive.answer(groups))
print(f"noise up to 1.5 on every count: {1 - stolen.wrong(secret):.1%} of the secrets are known")
# --8<-- [end:naive]

# --8<-- [start:curator]
domain = dc.Domain({"person": dc.Integer(0, people - 1), "bit": dc.Boolean()})
rows = pd.DataFrame({"person": np.arange(people), "bit": secret.astype(bool)})
table = dc.Table(rows, domain=domain, unit=None)
curator = dc.Curator({"people": table}, budget=dc.ApproxDP(1, 2e-6), ledger=":memory:")
counts = Dense(np.kron(groups, [0, 1]), domain)  # of the people in a group, those with the bit
release = curator.release(counts, table="people", budget=dc.ApproxDP(1, 1e-6), mechanism=IndependentNoise)
guessed = reconstruct(groups, release.answers)
print(f"the same counts by a curator: {1 - guessed.wrong(secret):.1%}, where a coin gets 50 %")
# --8<-- [end:curator]

replaced = dc.ApproxDP(1, 1e-6, neighbours=AddRemove).to_replace()  # a bit that changes is a row removed and one added
print(f"no attack can expect more than {reconstruction_bound(replaced):.1%}")

Path("out").mkdir(exist_ok=True)
known = {"a little noise": 1 - stolen.wrong(secret), "a curator": 1 - guessed.wrong(secret)}
rows = [{"who": who, "known": share} for who, share in known.items()]
chart = alt.Chart(alt.Data(values=rows), title="Secrets known to the attacker").mark_bar()
chart.encode(x="known:Q", y=alt.Y("who:N", sort=None, title=None)).save("out/90_reconstruction.svg")
