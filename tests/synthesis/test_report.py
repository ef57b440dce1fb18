"""discreet.synthesis.report: what the public page says, and that nothing else is in it."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.data import Records
from discreet.hazmat.entropy import SeededRandom
from discreet.release.models.estimate import Measurement
from discreet.release.models.graphical import GraphicalModel
from discreet.synthesis import Synthesizer
from discreet.synthesis.adaptive import Progress
from discreet.synthesis.encoding import Encoding
from discreet.synthesis.report import cramer, report
from discreet.synthesis.synthetic import Synthetic

MIXED = dc.Domain(
    {
        "age": dc.Integer(0, 119),
        "ward": dc.Categorical(["<b>north</b>", "south", "R&D"]),
        "icu": dc.Boolean(nullable=True),
        "<script>": dc.Boolean(),
    }
)


@pytest.fixture(scope="module")
def made():
    return Synthesizer(MIXED, budget=dc.ApproxDP(1.0, 1e-6)).fit(
        Records.random(MIXED, 2000, seed=1), rng=SeededRandom(1)
    )


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen, self.open, self.attributes = set(), [], set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(html):
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    return tags


def test_the_block_of_the_guide_writes_a_page(tmp_path):
    rng = np.random.default_rng(0)
    dom = dc.Domain({"age": dc.Integer(0, 119), "ward": dc.Categorical(list("abcd")), "icu": dc.Boolean()})
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 120, 5000),
            "ward": rng.choice(list("abcd"), 5000),
            "icu": rng.random(5000) < 0.1,
        }
    )
    s = Synthesizer(dom, budget=dc.ApproxDP(1.0, 1e-9), workload=dc.marginals(dom, 2)).fit(frame)
    people = s.sample(10_000)
    s.report(tmp_path / "report.html")

    assert people.num_rows == 10_000
    assert s.privacy() == dc.ApproxDP(1.0, 1e-9, neighbours=dc.privacy.AddRemove)
    assert "ApproxDP(epsilon=1.0, delta=1e-09)" in (tmp_path / "report.html").read_text()


def test_the_page_loads_nothing_and_runs_nothing_whatever_the_names(made):
    html = made.report().to_html()
    tags = parsed(html)

    assert not tags.seen & {"script", "link", "img", "iframe", "object", "b", "image", "use"}
    assert not tags.attributes & {"src", "href", "onload", "onclick"}
    assert "http" not in html.replace("http-equiv", "")
    assert "&lt;script&gt;" in html
    assert "&lt;b&gt;north&lt;/b&gt;" in html


def test_the_page_is_a_function_of_what_was_published(made):
    """The same model, noisy tables and schedule without any row: the same page, byte for byte."""
    again = Synthetic(
        encoding=Encoding(MIXED),
        model=made.model,
        guarantee=made.guarantee,
        progress=Progress(list(made.progress.measurements), rounds=made.progress.rounds),
        schedule=made.schedule,
    )

    assert report(again).to_html() == made.report().to_html()
    assert not any(isinstance(getattr(made.report(), name), Records) for name in type(made.report()).__slots__)


def test_every_table_is_listed_with_what_was_spent_on_it(made):
    found = made.report()
    text = str(found)

    assert len(found.measured) == 4 + made.progress.rounds
    assert f"{made.progress.rounds} of {made.schedule.rounds}" in text
    assert f"{made.schedule.sd:.4g}" in text
    assert [one.columns for one in found.measured[4:]] == made.progress.chosen
    assert all(one.sd == pytest.approx(made.schedule.sd) for one in found.measured[4:])


def test_off_is_the_distance_in_standard_deviations_at_the_resolution_measured():
    domain = dc.Domain({"a": dc.Integer(0, 3), "b": dc.Boolean()})
    model = GraphicalModel(domain, {("a",): np.zeros(4)}, total=80.0)  # 10 rows in every cell
    bins = (np.array([0, 0, 1, 1]), None)
    measured = Measurement(("a", "b"), np.array([[23.0, 17.0], [20.0, 24.0]]), sd=2.0, bins=bins)
    made = Synthetic(
        encoding=Encoding(domain), model=model, guarantee=dc.ZCDP(1.0), progress=Progress([measured], rounds=1)
    )
    (found,) = made.report().measured

    assert found.off == pytest.approx(np.sqrt((9 + 9 + 0 + 16) / 4) / 2)
    assert found.noise == pytest.approx(2.0 * np.sqrt(2 / np.pi) * 4 / (2 * 80))
    assert found.cells == 4
    assert "all" in str(made.report())  # without a schedule: the promise alone


def test_independent_columns_and_pure_budgets_are_reported_too():
    rows = Records.random(MIXED, 500, seed=2)
    for budget, method in ((dc.PureDP(1.0), "adaptive"), (dc.ZCDP(0.1), "independent")):
        found = Synthesizer(MIXED, budget=budget, method=method).fit(rows, rng=SeededRandom(1)).report()

        assert ("Laplace" in str(found)) == isinstance(budget, dc.PureDP)
        assert ("choose a table" in str(found)) == (method == "adaptive")
        parsed(found.to_html())


def test_cramer_is_that_of_the_textbook():
    rng = np.random.default_rng(4)
    table = rng.integers(0, 40, (4, 6))
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    chi = ((table - expected) ** 2 / expected).sum()

    assert cramer(table) == pytest.approx(np.sqrt(chi / (table.sum() * 3)))
    assert cramer(np.array([[3, 4]])) == 0
    assert cramer(np.zeros((2, 2))) == 0


def test_wide_columns_are_drawn_in_few_bars():
    domain = dc.Domain({"cost": dc.Integer(0, 999)})
    rows = Records(domain, [np.arange(1000)])
    html = Synthesizer(domain, budget=dc.ZCDP(1.0), most=1000).fit(rows, rng=SeededRandom(1)).report().to_html()

    assert len(re.findall('class="bar"', html)) == 128
