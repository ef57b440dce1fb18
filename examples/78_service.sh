#!/usr/bin/env bash
# A service from the command line: serve, hand out a token, ask from elsewhere, look at what was spent.
set -euo pipefail
mkdir -p out/service && cd out/service && rm -f ./*.db* curator.toml
python -c 'from discreet.curator.sample import hospital; hospital("visits.parquet", visits=20_000, patients=5_000)'
cat >visits.toml <<'TOML'
patient = { type = "identifier" }
ward = { type = "categorical", values = ["cardiology", "oncology", "surgery"] }
age = { type = "integer", low = 0, high = 119 }
TOML
discreet init visits.parquet --unit patient --declaration visits.toml --rows-per-unit 5 --epsilon 1 --delta 1e-6
cat >>curator.toml <<'TOML'

[service]
slot = 10.0  # seconds from question to answer: a public number, three times what the largest table takes, or more
margin = 3.0  # seconds of the slot that are kept for storing the answer
children = 1
TOML
PORT=$(python -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1]); s.close()')

# --8<-- [start:serve]
discreet serve --port "$PORT" 2>service.log &
discreet token issue --principal ada --role analyst --days 30 >ada.token
# --8<-- [end:serve]
trap 'kill $!; wait $! || true' EXIT
python - "$PORT" <<'PY'
import sys, time, urllib.error, urllib.request
for _ in range(600):
    try:
        sys.exit(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/v1/ready", timeout=5).status != 200)
    except urllib.error.URLError:
        time.sleep(0.1)
sys.exit("the service did not come up")
PY

# --8<-- [start:ask]
export DISCREET_URL="http://127.0.0.1:$PORT" DISCREET_TOKEN
DISCREET_TOKEN=$(cat ada.token)
discreet explain "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward" --epsilon 0.1
discreet ask "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward" --epsilon 0.1 --plot 78_service.svg
discreet ledger show
# --8<-- [end:ask]
