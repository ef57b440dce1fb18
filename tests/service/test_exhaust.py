"""Nothing private in the exhaust: canaries in rows, questions and tokens, and a search of all that a service leaves.

The service is the real one, `discreet serve` in processes of its own: asked, ordered jobs, stopped, and killed in the
middle of an answer.  Questions that were charged are in the ledger by design, and rows in the sealed copies of text,
which are sources like any other; else rows and tokens are nowhere, and questions are in no log, counter, temporary
file, title or environment.
"""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import duckdb
import httpx
import jwt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from discreet.service.log import Lines, failed
from discreet.service.settings import Settings
from discreet.service.store import open_store
from discreet.service.tokens import digest, issue

PATIENCE = 180.0  # seconds for a server to come up on a loaded machine
ROWS = 1_000
IN_ROWS, IN_QUESTIONS = "cnryrow", "cnryask"  # every canary begins with one of these
COOKIE = "discreet"
NUMBER = 918_273_645_546_372  # one that is no count, sum or time
KEY = ec.generate_private_key(ec.SECP256R1())  # of the identity provider
ORDERS = {
    "release": {"workload": {"marginals": 1, "columns": ["age"]}, "mechanism": "IndependentNoise"},
    "synthesis": {"columns": ["age"], "method": "mwem"},
    "fit": {"model": "LogisticRegression", "target": "sick", "columns": ["age"]},
}
FILE = """\
ledger = "ledger.db"

[budget]
epsilon = "10"
delta = "1e-6"

[service]
children = 4
slot = 6.0
margin = 0.5
log = "service.log"

[service.oidc]
issuer = "https://id.example.org/"
audience = "discreet"
jwks = "keys.json"
roles = { researchers = "analyst" }

[tables.visits]
source = "visits.csv"
unit = "patient"

[tables.visits.columns]
patient = { type = "identifier" }
note = { type = "text", max_bytes = 40 }
age = { type = "integer", low = 0, high = 119 }

[tables.broken]
source = "broken.csv"
unit = "patient"

[tables.broken.columns]
patient = { type = "identifier" }
age = { type = "integer", low = 0, high = 119 }

[tables.torn]
source = "torn.parquet"
unit = "patient"

[tables.torn.columns]
patient = { type = "identifier" }
age = { type = "integer", low = 0, high = 119 }
""" + "".join(
    f"""
[tables.{name}]
source = "{name}.{ending}"
unit = "patient"

[tables.{name}.columns]
patient = {{ type = "identifier" }}
age = {{ type = "integer", low = 0, high = 119 }}
sick = {{ type = "boolean" }}
"""
    for name, ending in (("headless", "csv"), ("strange", "parquet"), ("gone", "csv"))
)
ASTRAY = ("headless", "strange", "gone")  # tables whose source is not as declared


def _hospital(folder: Path) -> Path:
    """A table with a canary in every cell, one whose rows do not fit its header, and one that cannot be read.

    And three whose source is not as declared: without a header line, so that the first row is taken for one; with a
    column that nobody declared; and not there at all.
    """
    lines = [f"{IN_ROWS}p{i:04d},{IN_ROWS}n{i:04d},{NUMBER if i % 3 else i % 100}" for i in range(ROWS)]
    (folder / "visits.csv").write_text("\n".join(["patient,note,age", *lines]) + "\n")
    broken = [f'{IN_ROWS}b{i:04d},"{i},{IN_ROWS}' if i % 7 else f"{IN_ROWS}b{i:04d},{i % 100}" for i in range(ROWS)]
    (folder / "broken.csv").write_text("\n".join(["patient,age", *broken]) + "\n")
    people = [f"{IN_ROWS}t{i:04d}" for i in range(ROWS)]
    table = pa.table({"patient": people, "age": list(range(ROWS))})
    pq.write_table(table, folder / "torn.parquet", compression="none", use_dictionary=False)
    whole = (folder / "torn.parquet").read_bytes()
    wrong, start = (IN_ROWS.encode() * 200)[:1200], whole.index(people[1].encode())  # in a page
    torn = (
        whole[:start] + wrong + whole[start + len(wrong) :]
    )  # its footer and the headers of its pages are as they were
    (folder / "torn.parquet").write_bytes(torn)
    (folder / "headless.csv").write_text("".join(f"{IN_ROWS}h{i:04d},{NUMBER},true\n" for i in range(ROWS)))
    strange = {"patient": people, f"{IN_ROWS}column": list(range(ROWS)), "sick": [True] * ROWS}
    pq.write_table(pa.table(strange), folder / "strange.parquet")
    keys = [json.loads(ECAlgorithm.to_jwk(KEY.public_key())) | {"kid": "one", "alg": "ES256"}]
    (folder / "keys.json").write_text(json.dumps({"keys": keys}))
    file = folder / "curator.toml"
    file.write_text(FILE)
    return file


def _foreign() -> str:
    """A bearer token of the identity provider."""
    now = int(time.time())
    claims = {"iss": "https://id.example.org/", "aud": "discreet", "sub": "ada", "iat": now, "exp": now + 3600}
    return jwt.encode(claims | {"role": "researchers"}, KEY, algorithm="ES256", headers={"kid": "one"})


def _descendants(pid: int) -> list[int]:
    found = []
    for child in Path(f"/proc/{pid}/task").glob("*/children"):
        for number in map(int, child.read_text().split()):
            found += [number, *_descendants(number)]
    return found


def _titles(pid: int) -> bytes:
    """Command lines and environments of a process and all below it."""
    found = b""
    for number in [pid, *_descendants(pid)]:
        for name in ("cmdline", "environ", "comm"):
            try:
                found += Path(f"/proc/{number}/{name}").read_bytes()
            except OSError:  # it has ended
                continue
    return found


def _exhaust(folder: Path) -> dict[str, bytes]:
    """Every file that the service has written."""
    rows = {f"{name}.csv" for name in ("visits", "broken", "headless")} | {"torn.parquet", "strange.parquet"}
    rows |= {"curator.toml", "keys.json"}
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in rows)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def _with(exhaust: dict[str, bytes], *canaries: str) -> list[str]:
    return sorted(name for name, content in exhaust.items() if any(canary.encode() in content for canary in canaries))


class _Server:
    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, _hospital(folder)
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        with open_store(Settings.read(self.file)) as store:
            roles = ("steward", "analyst", "auditor")
            self.tokens = {role: issue(store, principal=role, role=role, days=1) for role in roles}
        self.start()

    def start(self) -> None:
        """Start it, with a log that begins anew: the address of the last time is not the one of this."""
        log = self.folder / "service.log"
        if log.exists():
            log.rename(self.folder / "service.log.1")
        command = [sys.executable, "-m", "discreet.cli", "serve", "--curator", str(self.file), "--port", "0"]
        environment = os.environ | {"TMPDIR": str(self.temporary)}
        with (self.folder / "printed").open("ab") as printed:
            self.process = subprocess.Popen(command, stdout=printed, stderr=printed, env=environment)
        self.url = self._address()

    def _address(self) -> str:
        log, end = self.folder / "service.log", time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            found = re.search(r"running on (http://127\.0\.0\.1:\d+)", log.read_text() if log.exists() else "")
            if found:
                return found[1]
            time.sleep(0.1)
        raise AssertionError((self.folder / "printed").read_text()[-2000:])

    def kill(self) -> None:
        """End it as a power switch does, and wait until its children have noticed."""
        family = _descendants(self.process.pid)
        self.process.kill()
        self.process.wait()
        end = time.monotonic() + PATIENCE
        while any(Path(f"/proc/{number}/stat").exists() for number in family) and time.monotonic() < end:
            time.sleep(0.05)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _ordered(client: httpx.Client, headers: dict[str, str]) -> dict[str, str]:
    """Order jobs of every kind about sources that are not as declared, one that works and one that is withheld."""
    wanted = {f"{kind} of {table}": (kind, table) for kind in ORDERS for table in ASTRAY}
    wanted |= {"release of visits": ("release", "visits"), "release of torn": ("release", "torn")}
    found = {}
    for name, (kind, table) in wanted.items():
        body = {"kind": kind, "table": table, "budget": {"rho": "0.01"}, **ORDERS[kind]}
        reply = client.post("/v1/jobs", json=body, headers=headers)
        assert reply.status_code == 202, reply.text
        found[name] = reply.json()["id"]
    return found


def _over(client: httpx.Client, headers: dict[str, str], jobs: dict[str, str]) -> dict[str, httpx.Response]:
    """What is told of jobs that are over, and of their results."""
    end, found = time.monotonic() + PATIENCE, {}
    for name, number in jobs.items():
        while (reply := client.get(f"/v1/jobs/{number}", headers=headers)).json()["state"] in ("queued", "running"):
            assert time.monotonic() < end, reply.text
            time.sleep(0.1)
        found[name] = reply
        found[f"result of {name}"] = client.get(f"/v1/jobs/{number}/result", headers=headers)
    found["all jobs"] = client.get("/v1/jobs", headers=headers)
    return found


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """What a service says and leaves behind: replies by name, titles while it ran, files afterwards."""
    server = _Server(tmp_path_factory.mktemp("exhaust"))
    secret, foreign = server.tokens["analyst"], _foreign()
    wrong = f"dct_{secret[4:12]}_{IN_QUESTIONS}{'x' * 36}"
    asks = {
        "answered": {"question": "SELECT COUNT(*) AS n, AVG(age) AS a FROM visits", "epsilon": 1},
        "broken": {"question": "SELECT COUNT(*) AS n, AVG(age) AS a FROM broken", "epsilon": 1},
        "torn": {"question": "SELECT COUNT(*) AS n, AVG(age) AS a FROM torn", "epsilon": 1},
        "unknown column": {"question": f"SELECT AVG({IN_QUESTIONS}) AS n FROM visits", "epsilon": 1},
        "not SQL": {"question": f"SELECT FROM {IN_QUESTIONS} '{IN_QUESTIONS}", "epsilon": 1},
        "a token as a question": {"question": secret, "epsilon": 1},
        "not a price": {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": IN_QUESTIONS},
        "too much": {"question": f"SELECT COUNT(*) AS {IN_QUESTIONS} FROM visits", "epsilon": 100},
        "not a field": {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": 1, IN_QUESTIONS: secret},
    }
    asks |= {name: {"question": f"SELECT AVG(age) AS a FROM {name}", "epsilon": 1} for name in ASTRAY}
    try:
        with httpx.Client(base_url=server.url, timeout=PATIENCE, trust_env=False) as client:
            headers = {"Authorization": f"Bearer {secret}"}
            jobs = _ordered(client, headers)  # they run while the questions are asked
            session = client.post("/v1/session", headers=headers).json()["secret"]
            with ThreadPoolExecutor(4) as pool:
                asked = pool.map(lambda body: client.post("/v1/ask", json=body, headers=headers), asks.values())
                replies = dict(zip(asks, asked, strict=True))
            replies["explained"] = client.post("/v1/explain", json=asks["unknown column"], headers=headers)
            replies["wrong token"] = client.get("/v1/me", headers={"Authorization": f"Bearer {wrong}"})
            replies["foreign token"] = client.get("/v1/me", headers={"Authorization": f"Bearer {foreign}"})
            replies["token in the address"] = client.get(f"/v1/{secret}", params={"token": secret})
            replies["token as a dataset"] = client.get(f"/v1/datasets/{secret}", headers=headers)
            replies["not JSON"] = client.post("/v1/ask", content=f"{{{IN_QUESTIONS} {secret}", headers=headers)
            replies["console"] = client.get("/signin", params={"next": f"/{IN_QUESTIONS}"})
            replies["session"] = client.get("/budget", headers={"Cookie": f"{COOKIE}={session}"})
            auditor = {"Authorization": f"Bearer {server.tokens['auditor']}"}
            replies |= _over(client, headers, jobs)
            replies["metrics"] = client.get("/metrics", headers=auditor)
            replies["report"] = client.get("/v1/ledger/report", headers=auditor)
            titles, live = _titles(server.process.pid), _exhaust(server.folder)
        server.stop()
        files = [live, _exhaust(server.folder)]
        replies["killed"] = _killed(server)
        files.append(_exhaust(server.folder))
    finally:
        server.stop()
    secrets = [*server.tokens.values(), session, foreign]
    return {"server": server, "secrets": secrets, "replies": replies, "titles": titles, "files": files}


def _killed(server: _Server) -> httpx.Response:
    """Start the server again, and kill it while it answers; the last reply before that."""
    server.start()
    headers = {"Authorization": f"Bearer {server.tokens['analyst']}"}
    bodies = [
        {"question": f"SELECT AVG(age) AS {IN_QUESTIONS} FROM {name}", "epsilon": 1} for name in ("visits", "torn")
    ]

    def asks(body: dict[str, object]) -> None:
        with suppress(httpx.TransportError):  # on a busy machine one may be answered before the server is killed
            httpx.post(f"{server.url}/v1/ask", json=body, headers=headers, timeout=PATIENCE, trust_env=False)

    threads = [threading.Thread(target=asks, args=[body]) for body in bodies]
    with httpx.Client(base_url=server.url, timeout=PATIENCE, trust_env=False) as client:
        before = client.get("/v1/budget", headers=headers).text
        for thread in threads:
            thread.start()
        end = time.monotonic() + PATIENCE
        while (reply := client.get("/v1/budget", headers=headers)).text == before:  # until one of them is charged
            assert time.monotonic() < end
            time.sleep(0.05)
    server.kill()
    for thread in threads:
        thread.join(timeout=PATIENCE)
    return reply


def test_the_service_answered_refused_and_withheld(left):
    codes = {name: reply.status_code for name, reply in left["replies"].items()}

    assert (codes["answered"], codes["broken"], codes["torn"]) == (200, 200, 424)
    assert (codes["session"], codes["foreign token"], codes["killed"]) == (200, 200, 200)
    assert (codes["result of release of visits"], codes["result of release of torn"]) == (200, 424)
    assert {codes[name] for name in ("unknown column", "not SQL", "a token as a question", "not a price")} == {400}
    assert (codes["too much"], codes["wrong token"], codes["token in the address"]) == (409, 401, 404)
    assert not any(code >= 500 for code in codes.values())


def test_a_source_that_is_not_as_declared_is_told_in_one_sentence_whatever_was_ordered(left):
    """The operator's log has the declared name that is missing."""
    names = [*ASTRAY, *(f"result of {kind} of {table}" for kind in ORDERS for table in ASTRAY)]
    told = {re.sub(r"\w{8}$", "", left["replies"][name].json()["detail"]) for name in names}
    log = left["files"][1]["service.log"].decode()

    assert told == {"a table cannot be read as it is declared; nothing was spent; see the operator log, reference "}
    assert {left["replies"][name].status_code for name in names} == {400}
    jobs = [left["replies"][f"{kind} of {table}"].json() for kind in ORDERS for table in ASTRAY]
    assert {job["state"] for job in jobs} == {"refused"}
    assert "is not as declared: age" in log
    assert re.search(r"is not as declared: \S+gone\.csv", log)


def test_no_row_is_in_any_reply_file_title_or_counter(left):
    canaries = (IN_ROWS, str(NUMBER))
    replies = {name: reply.content + str(reply.headers).encode() for name, reply in left["replies"].items()}

    assert _with(replies, *canaries) == []
    assert _with({"titles": left["titles"]}, *canaries) == []
    assert len(left["files"]) == 3  # alive, stopped, killed
    for files in left["files"]:
        assert "service.log" in files
        assert "ledger.db" in files
        assert any(name.startswith("curator-jobs/") for name in files)
        copies = {name for name in files if re.fullmatch(r"ledger\.db\.sealed/[0-9a-f]{32}/0000\.parquet", name)}
        assert len(copies) == 2  # of the text that questions read: rows by design, and nowhere else
        assert _with(files, *canaries) == sorted(copies)


def test_what_has_rows_by_design_is_for_its_owner_alone(left):
    """The copies that are read in place of text."""
    place = left["server"].folder / "ledger.db.sealed"
    modes = {path.stat().st_mode & 0o777 for path in place.rglob("*") if path.is_file()}

    assert place.stat().st_mode & 0o777 == 0o700
    assert modes == {0o600}


def test_no_token_is_anywhere_but_its_digest_in_the_store(left):
    tokens = [part for secret in left["secrets"] for part in (secret, secret[13:], secret.rpartition(".")[2])]
    replies = {name: reply.content + str(reply.headers).encode() for name, reply in left["replies"].items()}
    wal = b"".join(content for name, content in left["files"][0].items() if name.startswith("service.db"))

    assert _with(replies, *tokens) == []
    assert _with({"titles": left["titles"]}, *tokens) == []
    for files in left["files"]:
        assert _with(files, *tokens) == []
    assert all(digest(token).encode() in wal for token in left["server"].tokens.values())


def test_no_question_is_in_a_log_a_counter_a_temporary_file_or_a_title(left):
    told = left["replies"]["metrics"].content

    assert _with({"titles": left["titles"], "metrics": told}, IN_QUESTIONS, "SELECT") == []
    for files in left["files"]:
        logs = {name: content for name, content in files.items() if not name.startswith(("ledger.db", "service.db"))}
        assert _with(logs, IN_QUESTIONS, "SELECT") == []


def test_nothing_temporary_is_left(left):
    assert [name for name in left["files"][1] if name.startswith("temporary/")] == []


def test_a_line_of_log_says_who_did_what_when_and_nothing_more(left):
    lines = left["files"][1]["service.log"].decode().splitlines()
    requests = [line for line in lines if '"route"' in line]

    assert len(requests) >= len(left["replies"])
    for line in requests:
        keys = set(re.findall(r'"(\w+)":', line)) - {"page"}  # of what a page of the console asks for
        assert keys == {"time", "level", "logger", "request", "method", "route", "status", "milliseconds", "principal"}
    charged = next(line for line in requests if '"/v1/ask"' in line and '"status": 200' in line)
    assert int(re.search(r'"milliseconds": (\d+)', charged)[1]) % 6000 == 0


def _logged(formatter: logging.Formatter, work) -> str:
    """What a log holds of an exception."""
    try:
        work()
    except Exception:
        record = logging.LogRecord("discreet.service", logging.ERROR, "", 0, "failed", None, sys.exc_info())
        return formatter.format(record)
    raise AssertionError("it did not fail")


def test_an_engines_message_in_a_log_would_be_caught(caplog):
    def work():
        duckdb.sql(f"SELECT CAST('{IN_ROWS}0001' AS INTEGER)").fetchall()

    twin, honest = _logged(logging.Formatter(), work), _logged(Lines(), work)
    try:
        work()
    except duckdb.Error as error:
        failed(error)

    assert _with({"twin": twin.encode(), "honest": honest.encode(), "caplog": caplog.text.encode()}, IN_ROWS) == [
        "twin"
    ]
    assert "ConversionException" in honest
