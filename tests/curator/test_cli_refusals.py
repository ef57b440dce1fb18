"""discreet.cli: what is refused is one sentence with an exit code, and nothing is spent on what cannot be written."""

import json
import shlex
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from discreet._version import __version__
from discreet.cli.outcome import ending
from discreet.errors import ServiceError
from tests.curator.commands import SQL, init, run, typed

LATE = ("--target", "readmitted", "--columns", "age,readmitted", "--epsilon", "0.5")


def spent():
    return json.loads(run("ledger", "show", "--json").stdout)[0]["spent_epsilon"]


def sentence(capsys):
    """The one line that a refused command leaves on standard error."""
    said = capsys.readouterr().err
    assert said.startswith("discreet: "), said
    assert said.count("\n") == 1, said
    return said.removeprefix("discreet: ").rstrip()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("ask", SQL, "--epsilon", "0.5", "--plot", "x.txt"), "ends in .svg, .png, .pdf, .html or .json, got x.txt"),
        (
            ("ask", SQL, "--epsilon", "0.5", "--plot", "visits.toml/x.svg"),
            "cannot make the folder of visits.toml/x.svg",
        ),
        (("ask", SQL, "--epsilon", "0.5", "--plot", "folder.svg"), "cannot write folder.svg: it is a folder"),
        (("fit", "visits", *LATE, "-o", "visits.toml/x.model"), "cannot make the folder"),
        (("synthesize", "--table", "visits", "--epsilon", "0.5", "-o", "visits.toml/x.csv"), "cannot make the folder"),
        (("synthesize", "--table", "visits", "--epsilon", "0.5", "-o", "x.txt"), "ends in .parquet or .csv"),
        (("release", "visits", "-k", "1", "--columns", "ward", "--epsilon", "0.5", "-o", "."), "it is a folder"),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, tuple) else "",
)
def test_nothing_is_spent_where_the_file_cannot_be_written(home, capsys, words, says):
    init("--declaration", "visits.toml")
    (home / "folder.svg").mkdir()

    assert typed(*words) in (1, 2)
    assert says in sentence(capsys)
    assert spent() == 0


def test_an_answer_is_printed_before_its_picture_and_kept_if_that_fails(home, capsys, monkeypatch):
    def full(answer, path):
        raise OSError(28, "No space left on device", str(path))

    init("--declaration", "visits.toml")
    monkeypatch.setattr("discreet.curator.picture.save", full)
    assert typed("ask", SQL, "--epsilon", "0.5", "--plot", "x.svg") == 1
    told = capsys.readouterr()

    assert "cardiology" in told.out
    assert "no space left on device; what was paid for is kept: the same command again is free" in told.err
    monkeypatch.undo()
    monkeypatch.chdir(home)
    assert typed("ask", SQL, "--epsilon", "0.5", "--plot", "x.svg") == 0
    assert "asked before: free" in capsys.readouterr().out
    assert spent() == 0.5


def test_missing_folders_are_made(home):
    assert init("--declaration", "visits.toml", "-o", "new/curator.toml").exit_code == 0
    assert (
        run("ask", SQL, "--epsilon", "0.1", "-c", "new/curator.toml", "--plot", "pictures/of/wards.pdf").exit_code == 0
    )
    assert run("ledger", "report", "-c", "new/curator.toml", "-o", "reports/r.html").exit_code == 0

    assert (home / "pictures/of/wards.pdf").stat().st_size > 0
    assert (home / "reports/r.html").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            "init visits.toml --epsilon 1",
            "need a file that ends in .parquet, .pq, .csv, .csv.gz, .tsv, .tsv.gz, got visits.toml",
        ),
        ("init torn.parquet --epsilon 1", "torn.parquet cannot be read: it is no Parquet file"),
        (
            "init visits.parquet --epsilon 1 --declaration visits.parquet -o c",
            "declaration visits.parquet: it is not text",
        ),
        ("ledger verify --anchor nosuch.json", "no file nosuch.json"),
        ("ledger verify --anchor visits.parquet", "visits.parquet is no anchor"),
        ("ledger report --anchor nosuch.json -o r.html", "no file nosuch.json"),
        ("predict nosuch.model visits.parquet", "no file nosuch.model"),
        ("predict visits.parquet visits.parquet", "this is not a stored model"),
        ("ask x --epsilon 1 -c .", "cannot read the curator's file .: is a directory"),
        ("ask x --epsilon 1 -c visits.parquet", "cannot read the curator's file visits.parquet: it is not text"),
        ("attack trace --plot x.txt", "need a file that ends in"),
        ("attack reconstruct --plot x.txt", "need a file that ends in"),
        ("audit --picture x.foo", "need a file that ends in"),
        ("audit --csv visits.toml/x.csv", "cannot make the folder of visits.toml/x.csv"),
    ],
)
def test_what_cannot_be_read_or_written_is_one_sentence(home, capsys, words, says):
    (home / "torn.parquet").write_bytes(b"PAR1")
    if words.startswith("ledger"):
        init("--declaration", "visits.toml")
        run("explain", SQL, "--epsilon", "0.1")  # makes the ledger

    assert typed(*shlex.split(words)) in (1, 2)
    assert says in sentence(capsys)


def test_rows_that_a_model_cannot_take_are_one_sentence(home, capsys):
    init("--declaration", "visits.toml")
    assert typed("fit", "visits", *LATE, "-o", "models/m.model") == 0
    (home / "other.csv").write_text("a,b\n1,2\n")
    (home / "torn.csv").write_bytes(b"\xff\xfe\x00")
    capsys.readouterr()
    for rows, says in (
        ("visits.toml", ".parquet or .csv"),
        ("other.csv", "no column 'age'"),
        ("torn.csv", "no CSV file"),
    ):
        assert typed("predict", "models/m.model", rows) == 1
        assert says in sentence(capsys)


def test_an_error_that_nobody_foresaw_keeps_its_traceback():
    import pyarrow as pa

    assert ending(RuntimeError("a bug")) is None
    assert ending(pa.ArrowInvalid("somebody's row")) == (
        "a file cannot be read as the table that its name says (ArrowInvalid)",
        1,
    )
    assert ending(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no")) == ("a file that should be text in UTF-8 is not", 1)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--epsilon", "0"), "a cap above 0"),
        (("--rho", "0"), "a cap above 0"),
        (("--epsilon", "1e30"), "<= 2^64 in a cap"),
        (("--epsilon", "1", "--declaration", "wide.toml"), "no column 'height'"),
        (("--epsilon", "1", "--declaration", "narrow.toml"), "no column 'patient'"),
        (("--epsilon", "1", "--declaration", "wrong.toml"), "low <"),
    ],
)
def test_init_writes_no_file_that_could_never_be_opened(home, capsys, more, says):
    (home / "wide.toml").write_text('patient = { type = "identifier" }\nheight = { type = "boolean" }\n')
    (home / "narrow.toml").write_text('age = { type = "integer", low = 0, high = 9 }\n')
    (home / "wrong.toml").write_text(
        'patient = { type = "identifier" }\nage = { type = "integer", low = 9, high = 0 }\n'
    )

    assert typed("init", "visits.parquet", "--unit", "patient", *more) == 1
    assert says in sentence(capsys)
    assert not (home / "curator.toml").exists()


@pytest.mark.parametrize("words", ["--rows-per-unit 0", "--groups-per-unit 0"])
def test_a_bound_below_one_is_wrong_usage(home, words):
    assert init("--declaration", "visits.toml", *words.split()).exit_code == 2


def test_the_names_of_a_csv_file_are_those_of_its_header(home):
    (home / "bills.csv").write_text('\ufeffpatient,"cost, net"\n1,2\n', encoding="utf-8")
    assert run("init", "bills.csv", "--unit", "patient", "--epsilon", "1").exit_code == 0

    assert '"cost, net" = ' in (home / "curator.toml").read_text()


def test_the_hint_for_a_first_file_works_as_it_is_written(home, capsys):
    assert typed("ask", SQL, "--epsilon", "0.1", "-c", "my.toml") == 1
    hint = sentence(capsys).partition("make one with: discreet ")[2]

    assert typed(*shlex.split(hint.replace("DATA", "visits.parquet").replace("COLUMN", "patient"))) == 0
    assert (home / "my.toml").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("ask", SQL), "need a price: --epsilon E"),
        (("ask", SQL, "--epsilon", "1", "--rho", "1"), "give one of --epsilon and --rho"),
        (("ask", SQL, "--rho", "1", "--delta", "1e-6"), "--delta goes with --epsilon"),
        (("explain", SQL, "--error", "9", "--epsilon", "1"), "give a price or --error"),
        (("init", "visits.parquet"), "need a cap: --epsilon E"),
        (
            ("release", "visits", "-k", "9", "--rho", "0.01"),
            "need --marginals of at most 4, the number of columns, got 9",
        ),
        (("release", "visits", "--rho", "0.01"), "62,500,731 answers"),
        (("fit", "visits", *LATE, "--settings", "foo"), "need --settings as a JSON object"),
        (("ask", SQL, "--epsilon", "1", "--url", "http://127.0.0.1:9"), "need a token in DISCREET_TOKEN for --url"),
    ],
    ids=lambda value: " ".join(value[-4:]) if isinstance(value, tuple) else "",
)
def test_options_that_are_missing_or_do_not_go_together_are_wrong_usage(home, capsys, words, says):
    init("--declaration", "visits.toml")

    assert typed(*words) == 2
    assert says in sentence(capsys)
    assert spent() == 0


def test_a_parameter_that_a_model_does_not_have_is_named(home, capsys):
    init("--declaration", "visits.toml")
    assert typed("fit", "visits", *LATE, "--settings", '{"foo": 3}') == 1

    assert "LogisticRegression has no parameter 'foo' in --settings; there are bins, ridge, classes" in sentence(capsys)


def test_a_strategy_of_pirates_is_looked_at_before_the_code_is_made(capsys, monkeypatch):
    monkeypatch.setattr("discreet.attacks.tracing_lab.tardos", lambda *a, **k: pytest.fail("a minute of work"))

    assert typed("attack", "trace", "--strategy", "foo") == 1
    assert "a strategy among interleaving, majority" in sentence(capsys)


def test_a_refusal_of_the_budget_is_a_sentence(home, capsys):
    init("--declaration", "visits.toml")
    run("ask", SQL, "--epsilon", "0.8")
    assert typed("ask", SQL, "--epsilon", "0.45") == 3

    assert sentence(capsys) == (
        "budget exhausted: this asks for epsilon 0.45, and epsilon 0.2 is left of unit 'patient' (zCDP lane: closed)"
    )


class Stranger(BaseHTTPRequestHandler):
    """A service that knows no token."""

    def do_GET(self):
        open_ = self.path == "/v1/health"
        problem = {"type": "urn:discreet:problem:unauthenticated", "detail": "no", "remedy": "send the header"}
        body = json.dumps({"version": __version__} if open_ else problem).encode()
        self.send_response(200 if open_ else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        """Say nothing."""


def test_a_token_that_a_service_does_not_know_is_told_by_its_variable(home, capsys, monkeypatch):
    monkeypatch.setenv("DISCREET_TOKEN", "dct_wrong")
    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        code = typed("ledger", "show", "--url", f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()

    assert code == 1
    assert "does not know this token: check DISCREET_TOKEN" in sentence(capsys)


def test_an_address_where_nobody_is_is_told_at_once_by_its_option(home, capsys, monkeypatch):
    monkeypatch.setenv("DISCREET_TOKEN", "dct_any")
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail("nobody waits at a prompt"))
    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        url = f"http://127.0.0.1:{server.server_port}"

    assert typed("ask", SQL, "--epsilon", "0.1", "--url", url) == 1
    assert sentence(capsys) == f"no service at {url}: connection refused; check --url (DISCREET_URL)"


def test_a_service_that_fails_otherwise_says_so_itself(monkeypatch):
    from discreet.cli.remote import connected

    def broken(url, *, token):
        raise ServiceError("a sentence", kind="unavailable", status=503)

    monkeypatch.setenv("DISCREET_TOKEN", "dct_any")
    monkeypatch.setattr("discreet.service.client.Client", broken)
    monkeypatch.setattr("discreet.cli.remote._knock", lambda url, token: None)
    with pytest.raises(ServiceError, match="a sentence"):
        connected("http://127.0.0.1:9")
