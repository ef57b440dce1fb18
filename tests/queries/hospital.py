"""A declared table for the tests of the language."""

from discreet.data import Boolean, Categorical, Date, Domain, Identifier, Integer, Real, Table, Timestamp

DOMAIN = Domain({
    "patient": Identifier(),
    "ward": Categorical(["cardiology", "oncology", "surgery"]),
    "age": Integer(0, 119),
    "cost": Real(0, 5000, step="0.01"),
    "readmitted": Boolean(),
    "day": Date("2026-01-01", "2026-12-31"),
    "bmi": Real(-10, 60, step="0.5", nullable=True),
    "seen": Timestamp("2026-01-01", "2026-12-31", step=3600),
    "smokes": Boolean(nullable=True),
})  # fmt: skip
SCHEMA = {"visits": Table("visits.parquet", domain=DOMAIN, unit="patient", rows_per_unit=10, groups_per_unit=3)}
