"""A whole workload through the curator: explained, paid for, released once; and a session of adaptive questions.

A patient has up to three visits, and all of them are protected together: the budget of one row is a third.
The planner chooses the mechanism from public facts.
"""

from pathlib import Path

import numpy as np
import pandas as pd

import discreet as dc
from discreet.release import MWEM

generator = np.random.default_rng(5)
visits = 60_000
rows = pd.DataFrame(
    {
        "patient": generator.integers(0, 30_000, visits),
        "ward": generator.choice(["cardiology", "oncology", "surgery"], visits, p=[0.5, 0.3, 0.2]),
        "age": generator.integers(0, 10, visits),
        "readmitted": generator.random(visits) < 0.15,
    }
)

# --8<-- [start:release]
domain = {"patient": dc.Identifier(), "ward": dc.Categorical(["cardiology", "oncology", "surgery"])}
domain |= {"age": dc.Integer(0, 9), "readmitted": dc.Boolean()}
table = dc.Table(rows, unit="patient", rows_per_unit=3, domain=dc.Domain(domain))
curator = dc.Curator({"visits": table}, budget=dc.PureDP(8), ledger=":memory:")

pairs = dc.marginals(table.domain, 2)
print(curator.explain(pairs, table="visits", epsilon=1))  # nothing read, nothing spent

release = curator.release(pairs, table="visits", epsilon=1)
print(release.to_pandas(["ward", "readmitted"]).round(1).to_string(index=False))
again = curator.release(pairs, table="visits", epsilon=1)
print("the same question, the same answer, free:", np.array_equal(again.answers, release.answers))
# --8<-- [end:release]

# --8<-- [start:synthetic]
fitted = curator.release(pairs, table="visits", epsilon=1, mechanism=lambda w, **given: MWEM(w, rounds=15, **given))
print(fitted.synthetic(3).to_string(index=False))
# --8<-- [end:synthetic]

# --8<-- [start:session]
session = curator.session(table="visits", columns=["ward", "readmitted"], budget=dc.PureDP(4), queries=50)
answer = session.ask("ward = 'surgery' AND readmitted")
print(f"{answer:.0f} readmissions after surgery, within {session.alpha}; {session.queries_left} questions left")
print(curator.budget)
# --8<-- [end:session]

Path("out").mkdir(exist_ok=True)
release.plot(["ward", "readmitted"]).save("out/41_release.svg")
