"""discreet.curator.answer and estimate: intervals, post-processing, views."""

import html
import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.curator import Curator
from discreet.curator.answer import from_bytes
from discreet.curator.estimate import estimate
from discreet.curator.plan import plan
from discreet.curator.show import interval
from discreet.data import Domain, Identifier, Table, Text
from discreet.errors import DomainError, ParameterError
from discreet.privacy.guarantee import ApproxDP
from discreet.queries.sql import parse
from tests.scale import counts

GROUPED = "SELECT ward, COUNT(*) AS n, SUM(cost) AS total, AVG(cost) AS mean FROM visits GROUP BY ward"


@pytest.mark.statistical
@pytest.mark.parametrize("function", ["COUNT(*)", "SUM(age)", "AVG(age)", "VARIANCE(age)", "STDDEV(age)"])
@pytest.mark.parametrize("rows", [3, 400])
def test_intervals_hold_as_often_as_they_say(visits, function, rows):
    """Simulated noise around a known truth: misses at beta = 0.2 are at most binomial; failure probability 1e-6."""
    from scipy.stats import binom

    from discreet.hazmat.entropy import SeededRandom

    chance, runs, beta = np.random.default_rng(rows), counts(quick=400, full=10_000), 0.2
    ages = chance.integers(20, 90, rows)
    step = plan(parse(f"SELECT {function} AS x FROM visits", {"visits": visits}), visits, epsilon=2)
    truths = []
    for release in step.releases:
        part = release.part
        truths.append(rows if part.kind == "rows" else int(((ages - part.centre) ** part.power).sum()))
    rng = SeededRandom(rows)
    noisy = [
        release.mechanism(np.full(runs, truth), rng=rng) for release, truth in zip(step.releases, truths, strict=True)
    ]
    aggregate = step.query.aggregates[0]
    found = estimate(step, aggregate, noisy, beta=beta)
    truth = {
        "count": rows, "sum": ages.sum(), "avg": ages.mean(), "variance": ages.var(), "stddev": ages.std(),
    }[aggregate.function]  # fmt: skip
    missed = int(((found.low > truth + 1e-9) | (found.high < truth - 1e-9)).sum())

    assert missed <= binom.isf(1e-6, runs, beta)
    if function == "COUNT(*)":
        assert missed >= binom.ppf(1e-6, runs, beta / 3)  # and they are not needlessly wide


@pytest.mark.statistical
@pytest.mark.parametrize("function", ["MEDIAN(age)", "QUANTILE(age, 0.9)", "MIN(age)", "MAX(age)"])
@pytest.mark.parametrize("rows", [1, 2, 40, 2_000])
def test_intervals_of_quantiles_hold_as_often_as_they_say(visits, function, rows):
    """Two halves far apart, where conventions differ most: the lower and the upper quantile are both inside."""
    from scipy.stats import binom

    from discreet.hazmat.entropy import SeededRandom

    runs, rng = counts(quick=300, full=10_000), SeededRandom(rows)
    step = plan(parse(f"SELECT {function} AS x FROM visits", {"visits": visits}), visits, epsilon=3)
    cells = np.zeros(step.ranked[0].grid(1)[0], dtype=int)
    cells[20], cells[90] = rows // 2, rows - rows // 2
    noisy = [release.mechanism(np.tile(cells, (runs, 1)), rng=rng) for release in step.releases]
    found = estimate(step, step.query.aggregates[0], noisy, beta=0.05)
    truths = {"MEDIAN(age)": [20, 90] if rows % 2 == 0 else [90], "MIN(age)": [20 if rows > 1 else 90]}.get(
        function, [90]
    )
    outside = np.zeros(runs, dtype=bool)
    for truth in truths:
        outside |= (found.low > truth) | (found.high < truth)

    assert int(outside.sum()) <= binom.isf(1e-6, runs, 0.05)
    assert (found.low <= found.value).all()
    assert (found.value <= found.high).all()
    if rows == 2_000 and function != "MEDIAN(age)":
        assert float((found.high - found.low).mean()) < 60  # narrower than the declared range


def test_for_another_beta_or_all_groups_at_once_a_quantile_is_within_the_declared_range(visits):
    step = plan(parse("SELECT MEDIAN(age) AS x FROM visits", {"visits": visits}), visits, epsilon=1)
    noisy = [np.array([50]), np.array([45]), np.array([55])]
    wide, drawn = (estimate(step, step.query.aggregates[0], noisy, beta=beta) for beta in (0.01, 0.05))
    everywhere = estimate(step, step.query.aggregates[0], noisy, beta=0.05, cells=3)

    assert (drawn.low[0], drawn.value[0], drawn.high[0]) == (45, 50, 55)
    assert (wide.low[0], wide.value[0], wide.high[0]) == (0, 50, 119)
    assert (everywhere.low[0], everywhere.high[0]) == (0, 119)


def test_an_average_over_nothing_is_missing_and_its_interval_the_whole_range(visits):
    step = plan(parse("SELECT AVG(cost) AS x FROM visits", {"visits": visits}), visits, epsilon=1)
    found = estimate(step, step.query.aggregates[0], [np.array([-3, 0]), np.array([10**9, 5])], beta=0.05)

    assert np.isnan(found.value).all()
    assert found.low.tolist() == [0, 0]
    assert found.high.tolist() == [5000, 5000]


def test_averages_and_deviations_stay_inside_the_declared_range(visits):
    for function in ("AVG", "VARIANCE", "STDDEV"):
        step = plan(parse(f"SELECT {function}(cost) AS x FROM visits", {"visits": visits}), visits, epsilon=1)
        wild = [np.array([1, 2, 1000]), np.array([10**12, -(10**12), 0])] + [np.array([10**18, 0, 5])] * (
            function != "AVG"
        )
        found = estimate(step, step.query.aggregates[0], wild, beta=0.05)
        top = {"AVG": 5000, "VARIANCE": 2500**2, "STDDEV": 2500}[function]

        assert (found.value >= 0).all()
        assert (found.value <= top).all()
        assert (found.low <= found.value).all()
        assert (found.value <= found.high).all()


def test_having_order_and_limit_work_on_the_noisy_values(curator):
    shown = curator.ask(
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 1000 ORDER BY n LIMIT 1", epsilon=1
    ).to_pandas()

    assert shown["ward"].tolist() == ["oncology"]


def test_wider_error_bars_for_smaller_beta_and_for_all_cells_at_once(curator):
    answer = curator.ask(GROUPED, epsilon=1)

    def width(**kw):
        frame = answer.errors(**kw).to_pandas()
        return float((frame["n_high"] - frame["n_low"]).iloc[0])

    assert width(beta=0.001) > width(beta=0.05)
    assert width(beta=0.05, simultaneous=True) > width(beta=0.05)
    with pytest.raises(ParameterError, match="0 < beta < 1"):
        answer.errors(beta=1)


def test_differences_and_ratios_have_intervals(curator):
    answer = curator.ask(GROUPED, epsilon=1)
    value, low, high = answer.difference("n", 0, 1)
    share = answer.ratio("n", 0, 1)
    nothing = answer.ratio("n", 0, 2)

    assert low < value < high
    assert low < 4000 < high  # 7000 against 3000, roughly
    assert share[1] < 7 / 3 < share[2] or abs(share[0] - 7 / 3) < 0.1
    assert nothing[1:] == (-np.inf, np.inf)
    with pytest.raises(ParameterError, match="a row of the answer"):
        answer.difference("n", 0, 9)
    with pytest.raises(DomainError, match="no aggregate 'ward'"):
        answer.estimate("ward")


def test_counts_can_be_whole_and_non_negative(curator):
    answer = curator.ask(GROUPED, epsilon=0.01, whole_counts=True)
    frame = answer.errors().to_pandas()

    assert (frame["n"] >= 0).all()
    assert (frame["n_low"] >= 0).all()


def test_an_answer_survives_being_stored(curator):
    answer = curator.ask(GROUPED, epsilon=1)
    back = from_bytes(answer.plan, answer.to_bytes(), answer.receipt, beta=0.05, whole_counts=False)

    assert back.table.equals(answer.table)


def test_every_view_shows_the_same_numbers(curator):
    answer = curator.ask(GROUPED, epsilon=1)

    assert answer.to_pandas()["n"].tolist() == answer.to_polars()["n"].to_list()
    assert f"{answer.to_pandas()['n'][0]:,}" in str(answer)
    assert f"{answer.to_pandas()['n'][0]:,}" in answer._repr_html_()
    assert "PureDP(epsilon=1.0)" in answer.statement
    assert answer.to_dict()["rows"][0]["ward"] == "cardiology"


@pytest.mark.parametrize("name", ["[/red]", "\x1b[31mred\x1b]0;title\x07\r\n", "<script>", "\u202eleft"])
def test_a_name_that_somebody_wrote_is_shown_and_not_obeyed(name):
    """Neither as markup nor by the terminal."""
    from rich.console import Console

    rows = pa.table({"patient": list(range(300)), "name": [name] * 300})
    table = Table(rows, domain=Domain({"patient": Identifier(), "name": Text(50)}), unit="patient")
    with Curator({"visits": table}, budget=ApproxDP(10, 1e-6), ledger=":memory:") as curator:
        answer = curator.ask("SELECT name, COUNT(*) AS n FROM visits GROUP BY name", budget=ApproxDP(9, "1e-7"))
    console = Console(record=True, width=200, file=io.StringIO())
    console.print(answer)
    shown = name.encode("unicode_escape").decode() if not name.isprintable() else name

    assert answer.to_dict()["rows"][0]["name"] == name
    assert shown in str(answer)
    assert shown in console.export_text()
    assert html.escape(shown) in answer._repr_html_()


@pytest.mark.parametrize(
    "sql",
    [GROUPED, "SELECT COUNT(*) AS n FROM visits", "SELECT age, COUNT(*) AS n FROM visits GROUP BY age",
     "SELECT ward, readmitted, COUNT(*) AS n FROM visits GROUP BY ward, readmitted"],
)  # fmt: skip
def test_every_shape_has_a_picture(curator, sql, tmp_path):
    from discreet.curator.picture import save

    save(curator.ask(sql, epsilon=0.1), tmp_path / "answer.svg")

    assert (tmp_path / "answer.svg").read_text().startswith("<svg")


@given(
    st.one_of(st.integers(-(10**12), 10**12), st.floats(-1e9, 1e9)),
    st.floats(1e-6, 1e9),
    st.sampled_from([0.0, 0.04, 0.5, 1.0]),
)
def test_what_is_printed_covers_the_interval_and_is_as_precise_as_it(value, half, shift):
    low, high = value - (1 - shift) * half, value + (1 + shift) * half
    text = interval(value, low, high).replace(",", "")
    slack = 1e-9 * max(1.0, abs(low), abs(high))
    if "±" in text:
        middle, error = map(float, text.split(" ± "))
        printed = middle - error, middle + error
    else:
        printed = tuple(map(float, text.split("(")[1].rstrip(")").split(" to ")))

    assert printed[0] <= low + slack
    assert printed[1] >= high - slack
    assert printed[1] - printed[0] <= 2 * half * 1.08 + 3 + slack


def test_an_answer_without_error_says_so_and_one_without_a_value_too():
    assert interval(7, 7, 7) == "7 ± 0"
    assert interval(None, 0.0, 1.5) == "unknown (0 to 1.5)"
    assert interval(2.5, 0.0, float("inf")) == "2.5 (0 to inf)"
