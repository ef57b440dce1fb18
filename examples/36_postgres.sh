#!/usr/bin/env bash
# Ask a PostgreSQL server where the rows are: one statement goes there, and only sums and counts come back.
set -euo pipefail
mkdir -p out/postgres && cd out/postgres && rm -f ledger.db*

# A server of our own with made-up visits, gone at the end; you have one already.
programs=$(dirname "$(ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null | tail -n 1 || type -P postgres)")
server=$(mktemp -d) as=()
if [ "$(id -u)" = 0 ]; then chown postgres "$server" && as=(runuser -u postgres --); fi
run() { (cd "$server" && "${as[@]}" "$programs/$1" -D "$server/data" "${@:2}" >/dev/null); }
run initdb -U steward -A trust -E UTF8 --no-locale --no-sync
trap 'run pg_ctl -m immediate stop; rm -rf "$server"' EXIT
run pg_ctl -w -t 120 -l "$server/log" -o "-k '$server' -c listen_addresses=''" start
export PGHOST=$server PGUSER=steward
psql() { "$programs/psql" --quiet --no-psqlrc --set ON_ERROR_STOP=1 "$@"; }
psql postgres -c "CREATE DATABASE hospital"
psql hospital <<'SQL'
CREATE TABLE visits (patient bigint, name text, ward text, age integer, cost numeric(10, 2), day date)
    PARTITION BY RANGE (day);
CREATE TABLE visits_1 PARTITION OF visits FOR VALUES FROM ('2026-01-01') TO ('2026-07-01');
CREATE TABLE visits_2 PARTITION OF visits FOR VALUES FROM ('2026-07-01') TO ('2027-01-01');
INSERT INTO visits SELECT i % 5000, 'N. N.', (ARRAY['cardiology', 'oncology', 'surgery'])[1 + i % 3], i % 100,
    i % 5000, DATE '2026-01-01' + i % 365 FROM generate_series(1, 50000) AS i;
SQL

# --8<-- [start:role]
psql hospital <<'SQL'
CREATE ROLE discreet LOGIN CONNECTION LIMIT 20;
ALTER ROLE discreet SET default_transaction_read_only = on;
GRANT SELECT (patient, ward, age, cost, day) ON visits TO discreet;
SQL
# --8<-- [end:role]

# --8<-- [start:ask]
PGUSER=discreet python - <<'PYTHON'
import discreet as dc

visits = dc.Table("postgresql:///hospital#visits", unit="patient", rows_per_unit=3, domain=dc.Domain({
    "patient": dc.Identifier(), "ward": dc.Categorical(["cardiology", "oncology", "surgery"]),
    "age": dc.Integer(0, 119), "cost": dc.Real(0, 5000, step="0.01"), "day": dc.Date("2026-01-01", "2026-12-31")}))
curator = dc.Curator({"visits": visits}, budget=dc.ApproxDP(1.0, 1e-6), ledger="ledger.db")
print(curator.ask("SELECT COUNT(*) AS n FROM visits WHERE day >= '2026-10-01'", epsilon=0.1))
wards = curator.ask("SELECT ward, AVG(cost) AS cost FROM visits GROUP BY ward", epsilon=0.5)
wards.plot().save("36_postgres.svg")
PYTHON
# --8<-- [end:ask]
