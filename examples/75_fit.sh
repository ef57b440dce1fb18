#!/usr/bin/env bash
# A model of a table without a line of Python, and predictions with it.
set -euo pipefail
mkdir -p out/fit && cd out/fit && rm -f curator*
python -c 'from discreet.curator.sample import hospital; hospital("visits.parquet", visits=50_000, patients=20_000)'
cat >visits.toml <<'TOML'
patient = { type = "identifier" }
ward = { type = "categorical", values = ["cardiology", "oncology", "surgery"] }
age = { type = "integer", low = 0, high = 119 }
cost = { type = "real", low = 0, high = 5000, step = "0.01" }
readmitted = { type = "boolean" }
TOML
discreet init visits.parquet --unit patient --declaration visits.toml --rows-per-unit 5 --epsilon 3 --delta 1e-6

# --8<-- [start:fit]
discreet fit visits --target readmitted --model LogisticRegression --epsilon 2 --delta 1e-7 -o readmission.model
discreet predict readmission.model visits.parquet -o predicted.csv
# --8<-- [end:fit]
head -n 3 predicted.csv
discreet ask "SELECT FLOOR(age / 20) AS twenties, AVG(readmitted) AS readmitted FROM visits GROUP BY twenties" \
    --epsilon 0.5 --plot 75_fit.svg
