"""A table without names, and a few rough facts from somewhere else, name a person.

Everybody rated 25 of 800 films.  Six ratings, two weeks off and one of them wrong, are enough; the plain columns of a
register are nearly as good a key.
"""

from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

from discreet.attacks import Ratings, linkage, unique

rng = np.random.default_rng(1)
people, films, each = 3000, 800, 25
rarity = 1 / (np.arange(films) + 20)
film = np.concatenate([rng.choice(films, each, replace=False, p=rarity / rarity.sum()) for _ in range(people)])
size = people * each
stars, days = rng.integers(1, 6, size).astype(float), rng.integers(0, 1500, size).astype(float)
released = Ratings(np.repeat(np.arange(people), each), film, stars, days)

# --8<-- [start:linkage]
found = 0
for person in range(100):
    mine = np.flatnonzero(released.person == person)[:6]
    roughly = days[mine] + rng.integers(-14, 15, 6)
    facts = list(zip(film[mine].tolist(), stars[mine].tolist(), roughly.tolist(), strict=True))
    facts[0] = (int(rng.integers(films)), 3.0, 700.0)  # hearsay
    match = linkage(released, facts)
    found += match.claimed and match.person == person
print(f"{found} of 100 people are named by six rough facts")
# --8<-- [end:linkage]

# --8<-- [start:unique]
register = pd.DataFrame(
    {"born": rng.integers(0, 36_500, 20_000), "sex": rng.integers(0, 2, 20_000), "zip": rng.integers(0, 100, 20_000)}
)
shown = []
for columns in (["sex"], ["born"], ["born", "sex"], ["born", "sex", "zip"]):
    shown.append({"columns": ", ".join(columns), "alone": unique(register, columns)})
    print(f"{unique(register, columns):6.1%} are alone with their {', '.join(columns)}")
# --8<-- [end:unique]

Path("out").mkdir(exist_ok=True)
chart = alt.Chart(alt.Data(values=shown), title="Alone with these columns").mark_bar()
chart.encode(x="alone:Q", y=alt.Y("columns:N", sort=None, title=None)).save("out/91_linkage.svg")
