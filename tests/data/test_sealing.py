"""discreet.data.engines.sealing: text is read once, into a private copy, and never by a question."""

import dataclasses
import gzip
import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dc
from discreet.data import TextFile
from discreet.data.engines import linked_positions, positions, sealing, sources
from discreet.data.engines.duckdb import DuckDB
from discreet.errors import BudgetExhausted, DiscreetError, ParameterError, SourceError
from discreet.queries.ordered import thresholds
from tests.data.counting import rows_in, total

DOMAIN = dc.Domain({"who": dc.Identifier(), "age": dc.Integer(0, 100)})
COUNT = "SELECT COUNT(*) AS n FROM visits"


def rows(n):
    return [f"{i},{i % 100}" for i in range(n)]


def written(path, lines, header="who,age"):
    text = "\n".join([header, *lines] if header else lines) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def curator(source, folder, *, ledger="ledger.db", cap=10**6, **more):
    table = dc.Table(source, domain=DOMAIN, unit="who", **more)
    place = ledger if ledger == ":memory:" else folder / ledger
    return dc.Curator({"visits": table}, budget=dc.PureDP(cap), ledger=place, engine=DuckDB(threads=1))


def count(held, **more):
    """The number of rows: with so large an epsilon the noise is zero."""
    return held.ask(COUNT, epsilon=1000, **more).table["n"][0].as_py()


def test_one_open_quote_takes_its_own_row_and_no_other(tmp_path):
    lines = rows(5000)
    lines[2500] = '"abc,7'
    with curator(written(tmp_path / "visits.csv", lines), tmp_path) as held:
        assert count(held) == 4999


def test_two_lines_of_one_person_hide_nobody_between_them(tmp_path):
    lines = rows(5000)
    lines[100], lines[4900] = '"abc,7', 'abc",7'
    with curator(written(tmp_path / "visits.csv", lines), tmp_path) as held:
        assert 4998 <= count(held) <= 4999


def test_a_question_reads_the_text_once_and_then_the_copy(tmp_path, monkeypatch):
    made = []
    real = sealing.blocks
    monkeypatch.setattr(sealing, "blocks", lambda *given: made.append(given) or real(*given))
    file = written(tmp_path / "visits.csv", rows(50))
    with curator(file, tmp_path) as held:
        held.explain(COUNT, epsilon=1)
        held.mock("visits", 5)
        assert made == []
        first = count(held)
        file.unlink()

        assert (first, count(held, fresh=True)) == (50, 50)
    assert len(made) == 1


def test_no_copy_is_made_before_it_is_paid_for(tmp_path):
    with curator(written(tmp_path / "visits.csv", rows(50)), tmp_path, cap=1) as held:
        held.explain(COUNT, epsilon=1)
        with pytest.raises(BudgetExhausted):
            held.ask(COUNT, epsilon=2)

        assert not (tmp_path / "ledger.db.sealed").exists()
        held.ask(COUNT, epsilon=1)
        assert list((tmp_path / "ledger.db.sealed").glob("*/*.parquet"))


def test_a_source_that_changed_is_read_when_the_steward_names_a_new_version(tmp_path):
    file = written(tmp_path / "visits.csv", rows(50))
    with curator(file, tmp_path) as held:
        before = count(held)
    written(file, rows(70))
    with curator(file, tmp_path) as held:
        still = count(held, fresh=True)
    with curator(file, tmp_path, version=2) as held:
        assert (before, still, count(held)) == (50, 50, 70)
        newer = dataclasses.replace(held.tables["visits"], version=3)
    written(file, rows(90))
    with dc.Curator({"visits": newer}, budget=dc.PureDP(10**6), ledger=":memory:") as held:
        assert count(held) == 90


def test_the_copy_is_private_and_says_that_backups_leave_it_out(tmp_path):
    with curator(written(tmp_path / "visits.csv", rows(50)), tmp_path) as held:
        count(held)
    folder = tmp_path / "ledger.db.sealed"
    modes = {path: path.stat().st_mode & 0o777 for path in [folder, *folder.rglob("*")]}

    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_a_copy_without_a_ledger_on_disk_is_gone_with_the_process(tmp_path):
    file = written(tmp_path / "visits.csv", rows(50))
    script = f"""
import discreet as dc
table = dc.Table({str(file)!r}, domain=dc.Domain({{"who": dc.Identifier(), "age": dc.Integer(0, 100)}}), unit="who")
held = dc.Curator({{"visits": table}}, budget=dc.PureDP(9), ledger=":memory:")
held.ask({COUNT!r}, epsilon=1)
print(held.tables["visits"].source.place)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    place = Path(ran.stdout.strip())

    assert place.parent.name.startswith("discreet-sealed-")
    assert not place.parent.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["visits.csv"]


def test_the_copy_lies_where_the_configuration_says(tmp_path):
    written(tmp_path / "visits.txt", ["1;'x;y'", "2;z", "3;'"], header="who;word")
    (tmp_path / "curator.toml").write_text("""
ledger = "ledger.db"
[sealed]
place = "copies"
[budget]
epsilon = "1000000"
[tables.visits]
source = "visits.txt"
text = { separator = ";", quote = "'" }
unit = "who"
[tables.visits.columns]
who = { type = "identifier" }
word = { type = "categorical", values = ["x;y", "z"] }
""")
    with dc.Curator.open(tmp_path / "curator.toml") as held:
        assert count(held) == 2
    assert list((tmp_path / "copies").glob("*/seal.json"))


def test_the_steward_is_told_which_lines_were_bad_and_an_analyst_is_not(tmp_path):
    lines = [*rows(3), '"7', "8,9,10", "11", *rows(2)]
    with curator(written(tmp_path / "visits.csv", lines), tmp_path) as held:
        told = held.tables["visits"].seal()

        assert (told.rows, told.bad) == (5, 3)
        assert [line for _, line, _ in told.bad_lines] == [5, 6, 7]
        assert repr(told) == f"Seal({str(tmp_path / 'visits.csv')!r}, {told.date})"
        with pytest.raises(TypeError):
            pickle.dumps(told)
        answer = held.ask(COUNT, epsilon=1)
    shown = answer.statement + str(answer.plan) + json.dumps(answer.to_dict(), default=str)
    assert "closing" not in shown
    assert f"read from text on {told.date[:10]}." in answer.statement
    assert told.date not in answer.statement  # the second in which a copy was ready tells how long the file is


def test_the_statement_says_where_the_promise_ends_if_values_span_lines(tmp_path):
    written(tmp_path / "visits.csv", ['1,"a', 'b"', "2,c"], header="who,word")
    domain = dc.Domain({"who": dc.Identifier(), "word": dc.Text(9)})
    source = TextFile(tmp_path / "visits.csv", multiline=True)
    with dc.Curator(
        {"visits": dc.Table(source, domain=domain, unit="who")}, budget=dc.PureDP(10**6), ledger=":memory:"
    ) as held:
        explained, answer = str(held.explain(COUNT, epsilon=1)), held.ask(COUNT, epsilon=1000)

    assert answer.table["n"].to_pylist() == [2]
    for text in (explained, answer.statement):
        assert "the promise holds for the rows read, not for the bytes" in text


def test_too_little_disk_is_refused_free_and_the_bytes_are_for_the_operator(tmp_path, monkeypatch, caplog):
    file = written(tmp_path / "visits.csv", rows(50))
    little = shutil._ntuple_diskusage(10**6, 10**6 - 5, 5)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: little)
    with curator(file, tmp_path) as held:
        with pytest.raises(SourceError, match="too little disk for the copy") as caught:
            held.ask(COUNT, epsilon=1)

        assert held.budget.balance.spent.epsilon == 0
    assert str(file.stat().st_size + sealing.SPARE) in caplog.text
    assert str(file.stat().st_size + sealing.SPARE) not in str(caught.value)


def test_a_copy_that_fails_says_what_every_failure_after_the_charge_says(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "4711,secret")

    monkeypatch.setattr(sealing, "_copied", full)
    with curator(written(tmp_path / "visits.csv", rows(50)), tmp_path) as held:
        with pytest.raises(DiscreetError, match=r"^the run failed; see the operator log, reference") as caught:
            held.ask(COUNT, epsilon=1)

        assert caught.value.__context__ is None
        assert held.budget.balance.spent.epsilon == 1
        assert not list((tmp_path / "ledger.db.sealed").glob("*/seal.json"))


def test_whoever_stops_halfway_leaves_no_copy(tmp_path, monkeypatch):
    held = curator(written(tmp_path / "visits.csv", rows(50)), tmp_path)
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        sealing.seal(held.tables["visits"].source)
    monkeypatch.setattr(os, "fsync", real)
    left = [path.name for path in (tmp_path / "ledger.db.sealed").iterdir() if path.is_dir()]

    assert left == []
    assert count(held) == 50
    held.close()


def test_what_one_who_was_killed_left_is_gone_with_the_next_copy(tmp_path, monkeypatch):
    held = curator(written(tmp_path / "visits.csv", rows(50)), tmp_path)
    with monkeypatch.context() as killed:
        killed.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(KeyboardInterrupt))
        killed.setattr(shutil, "rmtree", lambda *_, **__: None)  # nobody tidies up after a kill
        with pytest.raises(KeyboardInterrupt):
            sealing.seal(held.tables["visits"].source)
    folder = tmp_path / "ledger.db.sealed"
    left = [path for path in folder.iterdir() if path.is_dir()]
    copy = sealing.seal(held.tables["visits"].source)

    assert len(left) == 1
    assert [path for path in folder.iterdir() if path.is_dir()] == [copy]
    held.close()


@pytest.mark.parametrize("name", ["visits.csv", "visits.csv.gz", "visits.tsv", "visits.jsonl", "visits.ndjson.gz"])
def test_every_kind_of_text_gives_the_same(tmp_path, name):
    separator = "\t" if ".tsv" in name else ","
    lines = [line.replace(",", separator) for line in rows(30)]
    if "json" in name:
        lines = [json.dumps(dict(zip(("who", "age"), map(int, line.split(",")), strict=True))) for line in rows(30)]
    file = str(written(tmp_path / name, lines, header=None if "json" in name else f"who{separator}age"))

    assert rows_in(file, DOMAIN, unit="who") == 30
    assert total(file, "age", dc.Integer(0, 100)) == sum(range(30))
    with curator(file, tmp_path) as held:
        assert count(held) == 30


def test_names_are_declared_where_there_is_no_header_line(tmp_path):
    file = written(tmp_path / "visits.csv", rows(30), header=None)
    source = TextFile(file, header=False, columns=["who", "age"])

    assert rows_in(source, DOMAIN, unit="who") == 30
    with pytest.raises(ParameterError, match="where there is no header line"):
        TextFile(file, header=False)


def test_files_of_a_pattern_have_headers_of_their_own(tmp_path):
    """The rows of one person are one person's, in whatever order a file has its columns."""
    written(tmp_path / "v-1.csv", [f"7,{age}" for age in range(100)])
    written(tmp_path / "v-2.csv", [f"{age},7,x" for age in range(100)], header="age,who,more")
    source = str(tmp_path / "v-*.csv")

    assert rows_in(source, DOMAIN, unit="who") == 1
    assert total(source, "age", dc.Integer(0, 100)) == 2 * sum(range(100))
    written(tmp_path / "v-3.csv", ["7"], header="who")
    with pytest.raises(SourceError, match="no column 'age'"):
        rows_in(source, DOMAIN, unit="who")


@pytest.mark.parametrize("first", ["agee,4711", '4711,"oncology', "4711,4711", ",,"])
def test_no_byte_of_a_first_line_is_told(tmp_path, first):
    """It may be somebody's row, where the header line is missing."""
    file = str(written(tmp_path / "visits.csv", rows(3), header=first))
    with pytest.raises(SourceError) as caught:
        rows_in(file, DOMAIN, unit="who")

    assert not any(word in str(caught.value) for word in ("agee", "4711", "oncology"))


def test_every_reader_of_a_path_reads_its_copy(tmp_path, monkeypatch):
    """Aggregations, positions and linked tables: none of them hands text to the engine."""
    file = str(written(tmp_path / "visits.csv", [*rows(9), '"9,9']))
    seen = []
    real = sources.shut_in
    monkeypatch.setattr(sources, "shut_in", lambda held, paths: seen.append(list(paths)) or real(held, paths))
    domain = dc.Domain({"age": dc.Integer(0, 100)})
    assert rows_in(file, DOMAIN, unit="who", engine=DuckDB(threads=2)) == 9
    assert len(positions.positions(file, domain)[0]) == 9
    linked = linked_positions.linked_positions(
        {"a": file, "b": file}, {"a": domain, "b": domain}, unit="who", rows_per_unit={"b": 1}
    )
    assert len(linked["a"][0]) == 9
    read = [path for paths in seen for path in paths]
    assert read
    assert all(path.endswith(".parquet") for path in read)


def test_workloads_and_models_are_of_the_copy_too(tmp_path):
    lines = rows(400)
    lines[100], lines[300] = '"a,7', 'b",7'
    with curator(written(tmp_path / "visits.csv", lines), tmp_path) as held:
        workload = thresholds(dc.Domain({"age": dc.Integer(0, 100)}))
        made = held.release(workload, table="visits", budget=dc.PureDP(10_000))

        assert abs(made.answers[-1] - 398.5) <= 1


def test_a_parsed_line_needs_memory_of_one_block(tmp_path):
    """Many columns and empty lines take no more than the bytes of a block allow."""
    names = [f"c{number}" for number in range(200)]
    file = TextFile(tmp_path / "wide.csv")
    (tmp_path / "wide.csv").write_bytes(",".join(names).encode() + b"\n" * 3_000_000 + b",".join([b"1"] * 200))
    told = sealing.report(file)

    assert (told.rows, told.bad) == (1, 0)
