"""Questions about people rather than rows: sub-queries, joins, unions, medians, and names nobody declared."""

from pathlib import Path

import numpy as np
import pyarrow as pa

import discreet as dc

chance = np.random.default_rng(1)
patients, n = 4_000, 12_000
rows = pa.table({
    "patient": chance.integers(0, patients, n), "ward": chance.choice(["cardiology", "oncology", "surgery"], n),
    "cost": chance.gamma(2, 400, n).round(2), "drug": chance.choice(["aspirin", "heparin", "statin", "secret"], n,
                                                                    p=[0.5, 0.3, 0.1999, 0.0001])})  # fmt: skip
tests = pa.table({"patient": np.arange(patients), "level": chance.integers(0, 10, patients)})
wards = pa.table({"ward": ["cardiology", "oncology", "surgery"], "beds": [30, 20, 50]})

# fmt: off
# --8<-- [start:declare]
ward, people = dc.Categorical(["cardiology", "oncology", "surgery"]), dc.Identifier()
visits = dc.Table(rows, unit="patient", rows_per_unit=5, groups_per_unit=2, domain=dc.Domain({
    "patient": people, "ward": ward, "cost": dc.Real(0, 5000, step="0.01"), "drug": dc.Text(20)}))
labs = dc.Table(tests, unit="patient", domain=dc.Domain({"patient": people, "level": dc.Integer(0, 9)}))
public = dc.Table(wards, unit=None, public=True, domain=dc.Domain({"ward": ward, "beds": dc.Integer(0, 99)}))
tables = {"visits": visits, "labs": labs, "wards": public}
curator = dc.Curator(tables, budget=dc.ApproxDP(6, 1e-5), ledger=":memory:")
# --8<-- [end:declare]
# --8<-- [start:per_unit]
print(curator.ask("""
    WITH t AS (SELECT patient, SUM(cost) AS total, COUNT(*) AS visits FROM visits GROUP BY patient)
    SELECT AVG(LEAST(total, 8000)) AS mean_total, COUNT(*) AS patients FROM t WHERE visits >= 2""", epsilon=0.5))
# --8<-- [end:per_unit]
# --8<-- [start:join]
print(curator.ask("""
    SELECT v.ward, COUNT(*) AS n, AVG(v.cost) AS cost FROM visits v JOIN labs l ON v.patient = l.patient
    WHERE l.level >= 5 GROUP BY v.ward ORDER BY n DESC""", epsilon=0.5))
print(curator.ask("""
    SELECT WIDTH_BUCKET(w.beds, 0, 60, 3) AS size, COUNT(*) AS n
    FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY size""", epsilon=0.5))
# --8<-- [end:join]
# --8<-- [start:union]
print(curator.ask("""
    SELECT COUNT(DISTINCT patient) AS seen FROM (
        SELECT patient FROM visits WHERE cost > 1000
        UNION ALL SELECT patient FROM labs WHERE level = 9) AS t""", epsilon=0.5))
# --8<-- [end:union]
# --8<-- [start:median]
print(curator.ask("SELECT ward, MEDIAN(cost) AS m, QUANTILE(cost, 0.9) AS q FROM visits GROUP BY ward", epsilon=1))
# --8<-- [end:median]
# --8<-- [start:names]
found = curator.ask("SELECT drug, COUNT(*) AS n FROM visits GROUP BY drug", budget=dc.ApproxDP(1, 1e-6))
print(found)  # the drug that one or two people take is not named
# --8<-- [end:names]

Path("out").mkdir(exist_ok=True)
found.plot().save("out/35_sql.svg")
