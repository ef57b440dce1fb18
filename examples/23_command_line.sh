#!/usr/bin/env bash
# From a Parquet file to private answers without a line of Python.
set -euo pipefail
mkdir -p out/command_line && cd out/command_line && rm -f curator*

# A made-up hospital.
python -c 'from discreet.curator.sample import hospital; hospital("visits.parquet", visits=1_000_000, patients=100_000)'

# --8<-- [start:declare]
cat >visits.toml <<'TOML'
patient = { type = "identifier" }
ward = { type = "categorical", values = ["cardiology", "oncology", "surgery"] }
age = { type = "integer", low = 0, high = 119 }
cost = { type = "real", low = 0, high = 5000, step = "0.01" }
readmitted = { type = "boolean" }
TOML

discreet init visits.parquet --unit patient --declaration visits.toml \
    --rows-per-unit 10 --groups-per-unit 3 --epsilon 1 --delta 1e-6 -o curator.toml
# --8<-- [end:declare]

# --8<-- [start:ask]
discreet explain "SELECT ward, COUNT(*) FROM visits GROUP BY ward" --epsilon 0.1
discreet explain "SELECT ward, COUNT(*) FROM visits GROUP BY ward" --error 200
discreet ask "SELECT ward, COUNT(*) FROM visits GROUP BY ward" --epsilon 0.1 --plot wards.svg
discreet ask "SELECT ward, AVG(cost) FROM visits WHERE age >= 65 GROUP BY ward" --epsilon 0.1 --json
# --8<-- [end:ask]

# --8<-- [start:release]
discreet explain --marginals 2 --table visits --columns ward,readmitted --epsilon 0.2
discreet release visits --marginals 2 --columns ward,readmitted --epsilon 0.2 -o wards.release
# --8<-- [end:release]

# --8<-- [start:ledger]
discreet ledger show
discreet ledger anchor >anchor.json # keep it elsewhere
discreet ledger verify --anchor anchor.json
discreet ledger export >entries.jsonl # one JSON line an entry
# --8<-- [end:ledger]

# --8<-- [start:exit]
discreet ask "SELECT COUNT(*) FROM visits" --epsilon 2 || too_much=$?               # 3: the budget does not cover it
discreet ask "SELECT COUNT(DISTINCT ward) FROM visits" --epsilon 0.1 || refused=$?  # 1: refused, with what to write instead
discreet ask "SELECT COUNT(*) FROM visits" || unpriced=$?                           # 2: wrong usage, here no price
# --8<-- [end:exit]
[ "$too_much $refused $unpriced" = "3 1 2" ] # a question that was answered has no code here, and fails
