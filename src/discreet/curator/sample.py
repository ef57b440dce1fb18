"""A made-up hospital for demonstrations: a million visits of a hundred thousand patients, with seasons.

Nobody is in it.  The generator is public and seeded, so that the truth is known to everyone.
"""

from __future__ import annotations

from pathlib import Path

from discreet.data.columns import Boolean, Categorical, Date, Identifier, Integer, Real
from discreet.data.domain import Domain
from discreet.data.table import Table

WARDS = ("cardiology", "emergency", "maternity", "oncology", "orthopaedics", "paediatrics", "surgery")
SHARES = (0.16, 0.27, 0.08, 0.11, 0.13, 0.10, 0.15)
COSTS = (1450, 420, 900, 2100, 1250, 380, 1700)  # means, in euros

DOMAIN = Domain({
    "patient": Identifier(),
    "day": Date("2025-01-01", "2025-12-31"),
    "ward": Categorical(WARDS),
    "age": Integer(0, 119),
    "cost": Real(0, 5000, step="0.01"),
    "readmitted": Boolean(),
})  # fmt: skip
DECLARATION = f"""patient = {{ type = "identifier" }}
day = {{ type = "date", low = "2025-01-01", high = "2025-12-31" }}
ward = {{ type = "categorical", values = {list(WARDS)} }}
age = {{ type = "integer", low = 0, high = 119 }}
cost = {{ type = "real", low = 0, high = 5000, step = "0.01" }}
readmitted = {{ type = "boolean" }}
""".replace("'", '"')  # the same in a file, for `discreet init --declaration`


def hospital(path: str | Path, *, visits: int = 1_000_000, patients: int = 100_000, seed: int = 2025) -> Table:
    """Write the visits as Parquet, and return the declared table."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    chance = np.random.default_rng(seed)
    weights = chance.gamma(1.2, size=patients)  # some come often
    patient = chance.choice(patients, size=visits, p=weights / weights.sum())
    birth = chance.beta(1.6, 1.9, size=patients) * 95
    season = 1 + 0.35 * np.cos(2 * np.pi * (np.arange(365) - 15) / 365) - 0.15 * (np.arange(365) % 7 >= 5)
    day = chance.choice(365, size=visits, p=season / season.sum())
    ward = chance.choice(len(WARDS), size=visits, p=SHARES)
    age = np.clip(birth[patient] + chance.normal(0, 1, visits), 0, 119).astype(np.int64)
    cost = np.clip(chance.gamma(2.0, np.array(COSTS)[ward] * (0.7 + age / 150) / 2), 0, 20_000).round(2)
    readmitted = chance.random(visits) < 0.04 + 0.12 * (age >= 65) + 0.03 * (np.array(COSTS)[ward] > 1500)
    table = pa.table({
        "patient": patient,
        "day": (np.datetime64("2025-01-01") + day).astype("datetime64[D]"),
        "ward": pa.array(np.array(WARDS)[ward]),
        "age": age,
        "cost": cost,
        "readmitted": readmitted,
    })  # fmt: skip
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, file)
    return Table(str(file), domain=DOMAIN, unit="patient", rows_per_unit=20, groups_per_unit=8)
