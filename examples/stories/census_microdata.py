"""A census: tables that may be published, and microdata that anybody may download, from one budget.

A small country counts its people.  The office promises every household rho = 0.5 for the whole census.  Part of it buys
the official tables with error bars; the rest buys a model from which synthetic people are drawn, for everyone who wants
to look at the data in a way that nobody planned.
"""

from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

import discreet as dc

# --8<-- [start:country]
rng, people = np.random.default_rng(11), 120_000
household = rng.integers(0, people // 3, people)  # about three people each
region = rng.choice(["north", "coast", "plains", "capital"], people // 3, p=[0.2, 0.3, 0.2, 0.3])[household]
age = (rng.beta(1.4, 1.8, people) * 100).astype(int)
work = np.where(age < 16, "none", rng.choice(["none", "part", "full"], people, p=[0.25, 0.2, 0.55]))
degree = (age > 20) & (rng.random(people) < np.where(region == "capital", 0.45, 0.22))
rent = rng.random(people) < np.where(region == "capital", 0.7, 0.3)
census = pd.DataFrame({"household": household, "region": region, "age": age, "work": work, "degree": degree})
census["rent"] = rent
# --8<-- [end:country]

# --8<-- [start:promise]
columns = {"household": dc.Identifier(), "region": dc.Categorical(["north", "coast", "plains", "capital"])}
columns |= {"age": dc.Integer(0, 99), "work": dc.Categorical(["none", "part", "full"])}
columns |= {"degree": dc.Boolean(), "rent": dc.Boolean()}
table = dc.Table(census, domain=dc.Domain(columns), unit="household", rows_per_unit=8)
office = dc.Curator({"census": table}, budget=dc.ZCDP(0.5), ledger=":memory:")
# --8<-- [end:promise]

# --8<-- [start:tables]
public = ["region", "work", "degree", "rent"]
official = office.release(office.marginals("census", 2, columns=public), table="census", budget=dc.ZCDP(0.2))
print(f"{len(official.answers)} published numbers, none off by more than {official.accuracy(0.05):.0f} people (95 %)")
# --8<-- [end:tables]

# --8<-- [start:microdata]
model = office.synthesize(table="census", budget=dc.ZCDP(0.3))
synthetic = model.sample(people).to_pandas()
Path("out/census").mkdir(parents=True, exist_ok=True)
synthetic.to_csv("out/census/microdata.csv", index=False)  # for everybody
# --8<-- [end:microdata]


# --8<-- [start:check]
def share(frame: pd.DataFrame, where: str) -> np.ndarray:
    """By decades of age, from 20 on: the share of the people in a region who have a degree."""
    ages, there = frame["age"].to_numpy() // 10, frame["region"].to_numpy() == where
    return np.array([frame["degree"].to_numpy()[there & (ages == decade)].mean() for decade in range(2, 10)])


points = [
    {"age": 10 * decade, "share": float(value), "who": f"{where}, {who}"}
    for who, frame in (("everybody", census), ("synthetic people", synthetic))
    for where in ("capital", "plains")
    for decade, value in enumerate(share(frame, where), start=2)
]
for where in ("capital", "plains"):
    off = np.abs(share(census, where) - share(synthetic, where))
    print(f"degrees by age in the {where}: off by {off.mean():.3f} on average, never planned for")
# --8<-- [end:check]
picture = alt.Chart(alt.Data(values=points), title="Degrees by age: a question nobody planned").mark_line(point=True)
x, y = alt.X("age:Q", title="age, by decade"), alt.Y("share:Q", title="share with a degree")
picture.encode(x=x, y=y, color=alt.Color("who:N", title=None)).properties(width=480, height=260).save(
    "out/census/census_microdata.svg"
)
print(office.budget)
