"""discreet.cli: what a steward and an analyst read, in help, explanations, tables and pictures."""

import io
import re
import signal
import statistics
import sys
import time
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.main import get_command

from benchmarks import audits
from discreet._version import __version__
from discreet.cli import app
from discreet.cli.audit import _stoppable
from discreet.cli.bench import ratios
from discreet.curator.balance import budgets_of, record, rich_balances
from discreet.errors import UnsupportedError
from discreet.ledger import Ledger
from discreet.privacy import ZCDP, ApproxDP, PureDP
from tests.curator.commands import SQL, init, run, typed


def commands(command=None, path="discreet"):
    """Every command with its path."""
    command = command or get_command(app)
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{path} {name}")


@pytest.mark.parametrize(
    ("path", "command"), list(commands()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_help_has_no_brackets_which_rich_would_take_for_markup(path, command):
    texts = [command.help or "", *(getattr(one, "help", None) or "" for one in command.params)]

    assert [text for text in texts if "[" in text] == []


def test_help_of_the_benchmarks_names_their_extra():
    assert "the extra named bench" in " ".join(run("bench", "--help").stdout.replace("│", " ").split())


@pytest.mark.parametrize("path", ["discreet init", "discreet ledger top-up", "discreet ledger renew", "discreet audit"])
def test_an_option_that_pays_nothing_does_not_say_so(path):
    options = {one.name: one.help for one in dict(commands())[path].params}

    assert "pay" not in options["epsilon"]
    assert ("claim" if path == "discreet audit" else "cap") in options["epsilon"]


def test_options_for_the_same_thing_have_the_same_name():
    found = {path: [word for one in command.params for word in one.opts] for path, command in commands()}

    for path, words in found.items():
        assert "--output" not in words or "--out" in words, path
        assert "--picture" not in words or "--plot" in words, path
    assert {"--out", "--output"} <= set(found["discreet synthesize"])


def test_the_version_is_printed(capsys):
    assert typed("--version") == 0
    assert capsys.readouterr().out == f"discreet {__version__}\n"


def test_explain_says_what_is_left_now_and_afterwards(home):
    init("--declaration", "visits.toml")
    asked = run("ask", SQL, "--epsilon", "0.6")
    fits, again, too_much = (run("explain", SQL, "--epsilon", price).stdout for price in ("0.3", "0.6", "0.5"))

    assert asked.exit_code == 0
    assert (
        "left now of unit 'patient': epsilon 0.4 (zCDP lane: closed); afterwards: epsilon 0.1 (zCDP lane: closed)"
        in fits
    )
    assert "asked before: the same answer again is free" in again
    assert "it would be refused: this asks for epsilon 0.5, and epsilon 0.4 is left of unit 'patient'" in too_much
    assert "afterwards" not in again + too_much


def test_explain_counts_the_caps_of_table_and_analyst(home):
    init("--declaration", "visits.toml")
    run("explain", SQL, "--epsilon", "0.1")  # makes the ledger
    with Ledger.open("curator-ledger.db") as ledger:
        ledger.sub_cap("visits", PureDP(0.5))
        ledger.allot("ada", ZCDP(0.01))
    shown = run("explain", SQL, "--epsilon", "0.1", "--analyst", "ada").stdout
    retired = run("ledger", "retire", "visits", "--reason", "over", "--yes")

    assert "left now of table 'visits': epsilon 0.5; afterwards: epsilon 0.4" in shown
    assert "left now of analyst 'ada': rho 0.01; afterwards: rho 0.005" in shown
    assert retired.exit_code == 0
    assert "it would be refused: table 'visits' is retired" in run("explain", SQL, "--epsilon", "0.1").stdout


def test_explain_counts_the_present_period_alone(home):
    init("--declaration", "visits.toml")
    run("ask", SQL, "--epsilon", "0.6")
    run("ledger", "renew", "patient", "--period", "2027", "--epsilon", "1", "--delta", "1e-6", "--reason", "x", "--yes")
    shown = run("explain", SQL, "--epsilon", "0.1").stdout

    assert "left now of period '2027': epsilon 1 or rho 0.0229374; afterwards: epsilon 0.9 or rho 0.0179374" in shown
    assert "left now of unit" not in shown


def _records(ledger, unit="patient"):
    return [record(unit, one.scope, one.name, balance) for one, balance in ledger.budget(unit).accounts()]


def _shown(ledger):
    """What `ledger show` has in each row, without its frame."""
    from rich.console import Console

    console = Console(width=200, file=io.StringIO())
    console.print(rich_balances(_records(ledger)))
    rows = [line.split("│")[1:-1] for line in console.file.getvalue().splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in row] for row in rows]


def test_the_ledger_shows_what_is_left_in_every_lane():
    cap = ApproxDP(1, 1e-6)
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=cap)
        ledger.spend(PureDP(0.8), unit="patient", tables=["visits"])
        rows = _shown(ledger)

    assert rows == [
        ["unit", "patient", str(cap), "epsilon", "0.8", "0.2", ""],
        ["", "", "", "rho", "0.32", "closed", ""],
        ["", "", "", "delta", "0", "5e-07", ""],
        ["table", "visits", "-", "epsilon", "0.8", "-", ""],
        ["", "", "", "rho", "0.32", "-", ""],
    ]


def test_the_ledger_shows_a_lane_that_gaussian_noise_closed_and_periods_that_are_over():
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=ApproxDP(1, 1e-6))
        ledger.spend(ZCDP(0.01), unit="patient", tables=["visits"])
        before = _shown(ledger)
        ledger.renew("patient", period="2027", cap=ApproxDP(1, 1e-6), reason="a new year")
        after = _shown(ledger)
        told = budgets_of(_records(ledger))["patient"]  # as a client reads it

        assert told == ledger.budget("patient")
    assert before[0][3:] == ["epsilon", "unbounded", "closed", ""]
    assert before[1][3:] == ["rho", "0.01", "0.0129374", ""]
    assert after[0][3:] == ["epsilon", "unbounded", "-", "all periods"]
    assert [row[4:] for row in after if row[1] == "first"] == [["unbounded", "-", "closed"]]
    assert [row[4:] for row in after if row[1] == "2027"] == [["0", "1", ""]]


def test_an_explanation_tells_shared_parts_clamps_and_laws_apart(curator):
    both = str(curator.explain("SELECT COUNT(*) AS n, AVG(cost) AS c FROM visits", epsilon=0.1))
    top = curator.explain("SELECT MAX(cost) FROM visits", epsilon=0.1)

    assert re.search(r"n = COUNT.*\n.*% of the budget, shared with c\n", both)
    assert re.search(r"c = AVG.*\n.*% of the budget, shared with n\n.*% of the budget\n", both)
    assert "clamped: values of cost outside their declared bounds are moved to the bound" in both
    assert "nothing, but" not in both
    assert "max_cost = MAX(cost)" in str(top)
    assert "Laplace" not in top.alternatives[0]
    assert "permute-and-flip" in top.alternatives[0] or "the exponential mechanism" in top.alternatives[0]
    assert top.to_dict()["removed"] == [*top.removed, *top.clamped]


@pytest.mark.parametrize(
    ("aggregate", "name"),
    [
        ("MAX(age)", "max_age"),
        ("MIN(age)", "min_age"),
        ("MEDIAN(age)", "median_age"),
        ("QUANTILE(age, 0.9)", "quantile_age"),
    ],
)
def test_a_column_without_a_name_is_called_by_its_aggregate(curator, aggregate, name):
    assert curator.query(f"SELECT {aggregate} FROM visits").outputs[0].name == name


def test_an_unknown_aggregate_is_refused_with_those_that_are_known(curator):
    with pytest.raises(
        UnsupportedError, match=r"GEOMEAN is not supported; aggregates are COUNT, .* MAX; of a row, comp"
    ):
        curator.query("SELECT GEOMEAN(cost) FROM visits")


def test_a_forecast_says_that_it_assumes_the_number_of_rows(curator):
    tables = curator.marginals("visits", 1, columns=["ward", "readmitted"])

    assert "assuming n = 100,000" in str(curator.explain(tables, table="visits", budget=ZCDP(0.01)))


def test_a_service_on_a_terminal_says_where_it_is_and_how_to_sign_in(home, capsys, monkeypatch):
    init("--declaration", "visits.toml")
    ran = []
    monkeypatch.setattr("discreet.service.serve.serve", lambda path, **given: ran.append(given))
    assert typed("serve", "--port", "8123") == 0
    silent = capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert typed("serve", "--port", "8123") == 0
    told = capsys.readouterr().err

    assert silent == ""  # a log of JSON lines stays one
    assert told.startswith("open http://127.0.0.1:8123 and sign in with a token: discreet token issue --principal NAME")
    assert ran == [{"host": None, "port": 8123, "workers": None, "behind_proxy": None}] * 2


FIGURES = [
    {"what": "discreet / OpenDP", "value": 600.0, "unit": "x", "promise": ">= 100", "benchmark": "noise"},
    {"what": "ours / Opacus", "value": 0.86, "unit": "x", "promise": "<= 1", "benchmark": "neural"},
    {"what": "numpy / ours", "value": 7.0, "unit": "x", "promise": "", "benchmark": "learners"},
    {"what": "numpy / ours", "value": 9.0, "unit": "x", "promise": "", "benchmark": "learners"},
    {"what": "a fit", "value": 3.0, "unit": "s", "promise": "", "benchmark": "learners"},
]


def _widths(chart):
    """How wide the bars of a picture are."""
    import vl_convert

    svg = vl_convert.vegalite_to_svg(chart.to_json())
    bars = re.findall(r'aria-roledescription="bar" d="M([-\d.]+),[-\d.]+h([-\d.]+)v', svg)
    return [abs(float(width)) for _, width in bars]


def test_every_bar_of_the_ratios_has_a_width_and_says_which_way_is_better():
    chart = ratios(FIGURES)
    rows = chart.data.values

    assert len(_widths(chart)) == 4
    assert min(_widths(chart)) > 1
    assert [row["wanted"] for row in rows[:3]] == ["larger is better", "smaller is better", "promised neither way"]
    assert len({row["name"] for row in rows}) == 4
    assert ratios(FIGURES[4:]) is None


def test_bars_that_are_stacked_on_a_logarithmic_axis_would_be_seen_to_be_empty():
    import altair as alt

    bars = alt.Chart(alt.Data(values=FIGURES[:2])).mark_bar()
    chart = bars.encode(x=alt.X("value:Q", scale=alt.Scale(type="log")), y="what:N", color="benchmark:N")

    assert max(_widths(chart), default=0) == 0


def test_one_unlucky_audit_does_not_fail_the_benchmark_and_a_worse_audit_does(monkeypatch):
    def found(shares):
        told = iter(shares)
        one = lambda mechanism, **given: SimpleNamespace(epsilon=next(told, 0.99) * float(mechanism.epsilon))  # noqa: E731
        monkeypatch.setattr(audits, "audit", one)
        return next(row for row in audits.measure() if "0.1: found" in row.what)

    lucky, worse = [0.99, *[0.92] * 6, 0.63, 0.71, 0.87], [0.99, *[0.8] * 9]
    assert found(lucky).holds
    assert not found(worse).holds
    assert found(lucky).value == statistics.median(lucky[1:])


def test_the_example_of_the_guide_fails_where_a_refused_question_is_answered():
    text = (Path(__file__).parents[2] / "examples/23_command_line.sh").read_text()

    assert "set -euo pipefail" in text  # a code that was never set fails too
    assert '[ "$too_much $refused $unpriced" = "3 1 2" ]' in text
    assert "|| echo" not in text


def test_help_begins_with_what_a_newcomer_needs():
    shown = run("--help").stdout

    assert shown.index(" demo ") < shown.index(" init ") < shown.index(" explain ") < shown.index(" serve ")
    assert "New here?" in shown


def test_ctrl_c_ends_an_audit_and_its_processes():
    child = get_context("spawn").Process(target=time.sleep, args=(600,), daemon=True)
    child.start()
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), _stoppable():
        signal.raise_signal(signal.SIGINT)
    child.join(60)

    assert child.exitcode == -signal.SIGTERM
    assert signal.getsignal(signal.SIGINT) is before


def test_sql_that_cannot_be_read_says_where(home, capsys):
    init("--declaration", "visits.toml")

    assert typed("ask", "SELECT COUNT(*) FRM visits", "--epsilon", "0.1") == 1
    assert "cannot read the SQL at 'visits', after 'SELECT COUNT(*) FRM'" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--epsilon", "--rho"])
def test_a_price_that_is_no_number_names_its_option(option, capsys):
    assert typed("ask", SQL, option, "zero") == 2
    assert f"{option}: need a finite number, got 'zero'" in capsys.readouterr().err
