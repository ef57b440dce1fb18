"""discreet.cli, with the files it reads and writes."""

import json
import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.curator import Curator
from discreet.curator.config import declaration
from discreet.curator.sample import DOMAIN
from discreet.errors import BudgetExhausted, DiscreetError, ParameterError
from discreet.release import Release
from tests.curator.commands import SQL, init, run

LINKED = """
ledger = "ledger.db"
[budget]
rho = "1"
[tables.people]
source = "people.parquet"
unit = "who"
[tables.people.columns]
who = { type = "identifier" }
age = { type = "integer", low = 0, high = 4 }
[tables.visits]
source = "v.parquet"
unit = "who"
rows_per_unit = 2
[tables.visits.columns]
who = { type = "identifier" }
icu = { type = "boolean" }
"""


def test_from_a_file_to_an_answer(home):
    assert init("--declaration", "visits.toml", "-o", "curator.toml").exit_code == 0
    explained = run("explain", SQL, "--epsilon", "0.1")
    asked = run("ask", SQL, "--epsilon", "0.1", "--json", "--plot", "out.svg")
    rows = json.loads(asked.stdout)["rows"]

    assert "nothing was spent" in explained.stdout
    assert [row["ward"] for row in rows] == ["cardiology", "oncology", "surgery"]
    assert rows[0]["n_low"] < 7000 < rows[0]["n_high"]
    assert (home / "out.svg").exists()
    assert "± " in run("ask", SQL, "--epsilon", "0.1").stdout
    assert "the ledger is whole" in run("ledger", "verify").stdout
    assert json.loads(run("ledger", "show", "--json").stdout)[0]["spent_epsilon"] == 0.1
    assert len(run("ledger", "export").stdout.splitlines()) == 4  # genesis, cap, spend, answer


def test_marginals_are_explained_and_released(home):
    init("--declaration", "visits.toml")
    explained = run("explain", "--marginals", "2", "--table", "visits", "--columns", "ward,readmitted", "--rho", "0.01")
    released = run(
        "release", "visits", "-k", "1", "--columns", "ward,readmitted", "--rho", "0.005", "-o", "one.release"
    )
    found = Release.load(home / "one.release")

    assert "nothing was spent" in explained.stdout
    assert released.stdout.startswith("wrote 5 answers in 2 tables to one.release")
    assert found.to_pandas(["ward"])["ward"].tolist() == ["cardiology", "oncology", "surgery"]
    assert found.privacy().rho == 0.005
    again = run("release", "visits", "-k", "1", "--columns", "ward,readmitted", "--rho", "0.005", "-o", "two.release")
    assert again.exit_code == 0
    assert (home / "one.release").read_bytes() == (home / "two.release").read_bytes()
    assert json.loads(run("ledger", "show", "--json").stdout)[0]["spent_rho"] == 0.005


def test_synthetic_rows_are_written_and_paid_for_once(home):
    init("--declaration", "visits.toml")
    words = ("synthesize", "--table", "visits", "--columns", "ward,readmitted", "--rho", "0.005")
    written = run(*words, "--rows", "300", "--output", "people.parquet")
    people = pq.read_table(home / "people.parquet").to_pandas()

    assert written.stdout.startswith("wrote synthetic rows of 2 columns to people.parquet; ZCDP(rho=0.005)")
    assert len(people) == 300
    assert set(people["ward"]) <= {"cardiology", "oncology", "surgery"}
    assert isinstance(run(*words, "-o", "people.txt").exception, ParameterError)
    assert run(*words, "-o", "people.csv").exit_code == 0
    assert len((home / "people.csv").read_text().splitlines()) != 10_001  # the noisy number of rows
    assert json.loads(run("ledger", "show", "--json").stdout)[0]["spent_rho"] == 0.005
    assert isinstance(run(*words, "--method", "magic").exception, ParameterError)
    limits = ("--checkpoint", "run.json", "--time-limit", "60", "--memory", "100000000")
    assert run(*words, *limits, "--explain").stdout.rstrip().endswith("nothing was read, nothing was spent")
    assert run(*words, *limits, "--analyst", "ada").exit_code == 0
    assert not (home / "run.json").exists()


def test_linked_tables_are_written_to_files_that_join(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"who": range(200), "age": [i % 5 for i in range(200)]}), "people.parquet")
    pq.write_table(
        pa.table({"who": [i // 2 for i in range(300)], "icu": [i % 3 == 0 for i in range(300)]}), "v.parquet"
    )
    (tmp_path / "curator.toml").write_text(LINKED)
    result = run("synthesize", "--table", "people,visits", "--rho", "0.1", "--rows", "50", "-o", "made.parquet")
    people, visits = (pq.read_table(tmp_path / "made" / f"{name}.parquet") for name in ("people", "visits"))

    assert result.stdout.startswith("wrote synthetic rows to made/people.parquet, made/visits.parquet; ZCDP(rho=0.1)")
    assert people.num_rows == 50
    assert set(visits["who"].to_pylist()) <= set(people["who"].to_pylist())


def test_marginals_need_a_table_and_no_question(home):
    init("--declaration", "visits.toml")
    for words in (("--marginals", "2"), (SQL, "--marginals", "2", "--table", "visits"), ()):
        assert isinstance(run("explain", *words, "--rho", "0.01").exception, ParameterError)
    assert isinstance(run("release", "visit", "--rho", "0.01").exception, DiscreetError)


def test_a_rollback_is_found_by_an_anchor_kept_elsewhere(home):
    init("--declaration", "visits.toml")
    run("ask", SQL, "--epsilon", "0.1")
    (home / "anchor.json").write_text(run("ledger", "anchor").stdout)
    for file in home.glob("curator-ledger.db*"):
        file.unlink()

    assert isinstance(run("ledger", "verify", "--anchor", "anchor.json").exception, DiscreetError)


def test_bounds_are_left_blank_and_refused_until_filled_in(home):
    result = init()

    assert "blank bounds" in result.stdout
    assert 'low = ""' in (home / "curator.toml").read_text()
    with pytest.raises(ParameterError, match="from public knowledge"):
        Curator.open("curator.toml")


def test_init_reads_only_the_schema(home, rows):
    """Two files with the same columns and different rows give the same text."""
    init()
    first = (home / "curator.toml").read_text()
    pq.write_table(rows.slice(0, 1), home / "visits.parquet")
    init("--force")

    assert (home / "curator.toml").read_text() == first


def test_refusals_are_sentences_and_exit_codes(home):
    init("--declaration", "visits.toml")

    assert isinstance(run("ask", SQL, "--epsilon", "5").exception, BudgetExhausted)
    assert isinstance(run("ask", SQL).exception, ParameterError)
    assert isinstance(run("ask", "SELECT 1", "--epsilon", "1").exception, DiscreetError)
    assert isinstance(init("--declaration", "visits.toml").exception, ParameterError)  # the file exists
    assert run("ask").exit_code == 2


def test_the_installed_command_prints_no_traceback(home):
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "discreet.cli", "ask", SQL, "--epsilon", "1"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.startswith("discreet: no file curator.toml")


def test_the_demo_declares_its_table_in_a_file_too(tmp_path):
    run("demo", tmp_path, "--visits", "200")
    declared = tomllib.loads((tmp_path / "visits.toml").read_text())

    assert declaration("visits", declared) == DOMAIN


def test_the_demo_writes_a_report(tmp_path):
    result = run("demo", tmp_path / "demo", "--visits", "20000")
    report = (tmp_path / "demo" / "report.html").read_text()

    assert result.exit_code == 0, result.output
    assert report.count("<svg") >= 5
    assert "free: True" in result.output


def test_bench_measures_this_machine():
    rows = json.loads(run("bench", "--visits", "20000", "--json").stdout)

    assert len(rows) == 5
    assert all(row["value"] > 0 for row in rows)


def test_bench_names_the_benchmarks_there_are():
    refused = run("bench", "--only", "weather")

    assert refused.exit_code == 1
    assert isinstance(refused.exception, ParameterError)
    assert "no benchmark 'weather'" in str(refused.exception)
    assert "noise" in str(refused.exception)
