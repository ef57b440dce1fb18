"""From a file to a service by changing one line: a client has the methods of a curator."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from discreet.curator.sample import hospital

folder = Path("out/client")
hospital(folder / "visits.parquet", visits=500_000, patients=100_000)  # made-up visits
for old in folder.glob("*.db*"):
    old.unlink()
with socket.create_server(("127.0.0.1", 0)) as free:
    url = f"http://127.0.0.1:{free.getsockname()[1]}"
(folder / "curator.toml").write_text("""ledger = "ledger.db"
budget = { epsilon = "1", delta = "1e-6" }
service = { slot = 10.0, margin = 3.0, children = 1 }  # every answer leaves after ten seconds, whatever is in the rows
[tables.visits]
source = "visits.parquet"
unit = "patient"
rows_per_unit = 10
columns.patient = { type = "identifier" }
columns.ward = { type = "categorical", values = ["cardiology", "oncology", "surgery"] }
columns.cost = { type = "real", low = 0, high = 5000, step = "0.01" }
""")
discreet = [sys.executable, "-m", "discreet.cli"]
issue = [*discreet, "token", "issue", "--principal", "ada", "--role", "analyst", "-c", str(folder / "curator.toml")]
os.environ["DISCREET_TOKEN"] = subprocess.run(issue, check=True, capture_output=True, text=True).stdout.strip()
serve = [*discreet, "serve", "-c", str(folder / "curator.toml"), "--port", url.rpartition(":")[2]]
service = subprocess.Popen(serve, stderr=subprocess.DEVNULL)
try:
    for _ in range(600):  # until it answers
        try:
            urllib.request.urlopen(f"{url}/v1/ready", timeout=5)
            break
        except urllib.error.URLError:
            time.sleep(0.1)
    # --8<-- [start:client]
    import discreet as dc

    with dc.Client(url) as curator:  # the token is in DISCREET_TOKEN; before: dc.Curator.open("curator.toml")
        sql = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward"
        print(curator.explain(sql, epsilon=0.1))
        answer = curator.ask(sql, epsilon=0.1)
        print(answer)
        print(answer.errors(beta=0.01).to_pylist()[0])  # another error bar, computed here, free
        print(curator.budget)
    # --8<-- [end:client]
    answer.plot().save(folder / "77_client.svg")
finally:
    service.terminate()
    service.wait()
