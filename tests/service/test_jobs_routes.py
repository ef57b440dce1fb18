"""Jobs over HTTP: orders in the words of the API, whose they are, and what is fetched of them."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from discreet.service.running.outcome import Order
from discreet.service.running.records import Records
from tests.scale import counts
from tests.service.children import settings
from tests.service.conftest import Served, hospital, opened

RELEASE = {
    "kind": "release",
    "table": "visits",
    "workload": {"marginals": 1, "columns": ["ward"]},
    "budget": {"rho": "0.01"},
    "mechanism": "IndependentNoise",
}
SYNTHESIS = {"kind": "synthesis", "table": "visits", "columns": ["ward", "readmitted"], "budget": {"rho": "0.01"}}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory):
    file = hospital(tmp_path_factory.mktemp("api"), rows=300)
    with opened(file, settings(file, children=2, slot=0.2, margin=0.1, memory=1024), running=True) as served:
        yield served


def ended(api: Served, body: dict[str, object], *, as_: str = "ada", **given: object) -> dict[str, object]:
    """Order a job and look until it is over."""
    reply = api("POST", "/v1/jobs", json=body, as_=as_, **given)
    assert reply.status_code == 202, reply.text
    job = reply.json()
    for _ in range(3000):
        if job["state"] not in ("queued", "running"):
            return job
        time.sleep(0.1)
        job = api("GET", f"/v1/jobs/{job['id']}", as_=as_).json()
    raise AssertionError("the job does not end")


@pytest.fixture(scope="module")
def release(api):
    return ended(api, RELEASE, headers={"Idempotency-Key": "r1"})


@pytest.fixture(scope="module")
def synthesis(api):
    return ended(api, SYNTHESIS)


def test_a_job_is_told_in_the_words_of_the_api(release):
    wanted = {"id", "kind", "principal", "state", "progress", "receipt", "cost", "problem", "created", "updated"}

    assert wanted <= set(release)
    assert (release["kind"], release["principal"], release["state"]) == ("release", "ada", "done")
    assert release["cost"] == "ZCDP(rho=0.01)"


def test_results_are_a_document_and_files(api, release):
    where = f"/v1/jobs/{release['id']}/result"
    document, file = api("GET", where, as_="ada"), api("GET", f"{where}?file=marginals.release", as_="ada")

    assert document.json()["answers"] == 3
    assert len(document.content) % 1024 == 0
    assert file.content[:2] == b"PK"
    for name in ("lock", "../curator.toml", "/etc/passwd", "nothing"):
        assert api("GET", where, params={"file": name}, as_="ada").status_code == 404


def test_a_release_is_rows_with_intervals_for_any_language(api, release):
    import io

    import pyarrow.csv
    import pyarrow.parquet

    where = f"/v1/jobs/{release['id']}/result"
    fetched = {form: api("GET", f"{where}?file=release.{form}", as_="ada").content for form in ("parquet", "csv")}
    table = pyarrow.parquet.read_table(io.BytesIO(fetched["parquet"]))
    document = api("GET", where, as_="ada").json()

    assert release["files"] == ["marginals.release", "release.csv", "release.parquet"]
    assert table.column_names == ["table", "cell", "answer", "low", "high", "ward"]
    assert table["ward"].to_pylist() == ["cardiology", "oncology", "surgery"]
    assert all(row["low"] <= row["answer"] <= row["high"] for row in table.to_pylist())
    assert pyarrow.csv.read_csv(io.BytesIO(fetched["csv"])).to_pydict() == table.to_pydict()
    assert document["rows"] == table.drop_columns("ward").to_pylist()
    assert document["beta"] == 0.05


@pytest.mark.parametrize(("form", "start"), [("csv", b'"ward"'), ("parquet", b"PAR1"), ("arrow", b"\xff\xff\xff\xff")])
def test_synthetic_rows_come_in_three_forms_and_are_free(api, synthesis, form, start):
    before = api("GET", "/v1/budget").json()
    reply = api("GET", f"/v1/jobs/{synthesis['id']}/synthetic?rows=20&seed=3&format={form}", as_="ada")

    assert reply.status_code == 200
    assert reply.content.startswith(start)
    assert api("GET", "/v1/budget").json() == before


def test_a_report_comes_with_synthetic_data(api, synthesis):
    reply = api("GET", f"/v1/jobs/{synthesis['id']}/result?file=report.html", as_="ada")

    assert reply.headers["content-type"].startswith("text/html")
    assert b"<html" in reply.content


def test_the_same_key_is_the_same_job(api, release):
    again = api("POST", "/v1/jobs", json=RELEASE, as_="ada", headers={"Idempotency-Key": "r1"})
    other = api("POST", "/v1/jobs", json=SYNTHESIS, as_="ada", headers={"Idempotency-Key": "r1"})

    assert again.json()["id"] == release["id"]
    assert other.status_code == 409


def test_a_job_is_its_owners_and_the_stewards(api, release):
    where = f"/v1/jobs/{release['id']}"

    for path in (where, f"{where}/result", f"{where}/synthetic"):
        foreign, nowhere = api("GET", path, as_="analyst"), api("GET", path.replace(release["id"], "0"), as_="analyst")
        assert (foreign.status_code, nowhere.status_code) == (404, 404)
        assert foreign.json() | {"instance": ""} == nowhere.json() | {"instance": ""}
    assert api("DELETE", where, as_="analyst").status_code == 404
    assert api("GET", where, as_="steward").status_code == 200
    assert release["id"] in [job["id"] for job in api("GET", "/v1/jobs", as_="steward").json()["jobs"]]
    assert api("GET", "/v1/jobs", as_="analyst").json() == {"jobs": []}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({**RELEASE, "table": "payroll"}, 404),
        ({**RELEASE, "table": "nowhere"}, 404),
        ({**RELEASE, "kind": "mine"}, 400),
        ({**RELEASE, "target": "age"}, 400),
        ({"kind": "fit", "table": "visits", "epsilon": 1}, 400),
        ({**RELEASE, "epsilon": 1}, 400),
        ({**RELEASE, "budget": {"rho": "-1"}}, 400),
        ({"kind": "audit"}, 403),
        ({**SYNTHESIS, "rows": 0}, 400),
        ({**SYNTHESIS, "analyst": "the steward"}, 400),
    ],
)
def test_what_cannot_be_ordered_is_refused(api, body, status):
    reply = api("POST", "/v1/jobs", json=body, as_="ada")

    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/problem+json"


def test_what_is_not_there_is_said_so(api, release):
    assert api("GET", f"/v1/jobs/{release['id']}/synthetic", as_="ada").status_code == 404
    refused = ended(api, {**RELEASE, "mechanism": "Nonsense"})
    reply = api("GET", f"/v1/jobs/{refused['id']}/result", as_="ada")

    assert refused["state"] == "refused"
    assert reply.status_code == 400


def test_a_job_above_the_threshold_waits_for_a_steward(tmp_path):
    from discreet.privacy.guarantee import ZCDP

    file = hospital(tmp_path, rows=300)
    chosen = settings(file, children=1, slot=0.2, margin=0.1, memory=1024, approval=ZCDP("0.001"))
    with opened(file, chosen, running=True) as api:
        first = api("POST", "/v1/jobs", json=RELEASE, as_="ada").json()
        api("POST", f"/v1/approvals/{first['approval']}", json={"decision": "approve", "reason": "agreed"})
        job = ended(api, RELEASE)
        again = api("POST", "/v1/jobs", json=RELEASE, as_="ada").json()

    assert first["state"] == "waiting"
    assert job["state"] == "done"
    assert again["state"] == "waiting"  # one approval, one charge


def test_a_list_of_jobs_is_no_longer_than_a_megabyte_whatever_was_ordered(tmp_path):
    many = counts(quick=40, full=1000)
    file = hospital(tmp_path, rows=50)
    with opened(file, settings(file)) as api:
        records = Records(api.app.state.store)
        api.app.state.runner = SimpleNamespace(jobs=SimpleNamespace(records=records))
        long = {"table": "visits", "model": "NaiveBayes", "parameters": {"bins": "x" * 250_000}}
        for number in range(many):
            order = Order(kind="fit", principal="ada", body=long if number else RELEASE)
            records.add_job(f"j{number}", order, most=many)
            records.change_job(f"j{number}", problem={"detail": "x" * 900}, document={"answers": "x" * 100_000})
        reply = api("GET", "/v1/jobs?limit=1000", as_="ada")
        whole = api("GET", "/v1/jobs/j1", as_="ada")
    jobs = reply.json()["jobs"]

    assert len(reply.content) <= 1_000_000
    assert len(jobs) == min(many, len(jobs)) >= 40
    assert {len(job["order"]) for job in jobs} <= {0, len(RELEASE)}
    assert whole.json()["order"] == long
