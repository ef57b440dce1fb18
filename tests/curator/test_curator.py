"""discreet.curator.curator: the walk of a question, in its order."""

import numpy as np
import pytest

from discreet.curator import Curator
from discreet.data import Table
from discreet.data.aggregation import Sealed
from discreet.data.engines.duckdb import DuckDB
from discreet.errors import BudgetExhausted, DiscreetError, DomainError, LedgerError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.ledger import Ledger
from discreet.privacy import ZCDP, ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace

COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


class Watched:
    """An engine that notes when it is run, and may fail."""

    def __init__(self, ledger, *, fails=False):
        self.ledger, self.fails, self.inner, self.spends_seen = ledger, fails, DuckDB(), []

    def ready(self, table, aggregation):
        """Whatever is asked."""

    def check(self):
        self.inner.check()

    def run(self, table, aggregation):
        self.spends_seen.append(sum(entry.record["kind"] == "spend" for entry in self.ledger.entries()))
        if self.fails:
            raise DiscreetError("the run failed; see the operator log, reference 0")
        return self.inner.run(table, aggregation)


def test_answers_are_near_the_truth_and_list_every_declared_key(curator, rows):
    answer = curator.ask("SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward", epsilon=1)
    frame, truth = answer.errors(1e-6).to_pandas(), rows.to_pandas().groupby("ward")

    assert frame["ward"].tolist() == ["cardiology", "oncology", "surgery"]
    for i, ward in enumerate(["cardiology", "oncology"]):
        assert frame["n_low"][i] <= len(truth.get_group(ward)) <= frame["n_high"][i]
        assert frame["cost_low"][i] <= truth.get_group(ward)["cost"].mean() <= frame["cost_high"][i]
    assert frame["n_low"][2] <= 0 <= frame["n_high"][2]


def test_the_ledger_is_charged_before_the_data_is_read(visits, ledger):
    engine = Watched(ledger)
    Curator({"visits": visits}, budget=PureDP(1), ledger=ledger, engine=engine, rng=SeededRandom(1)).ask(
        COUNT, epsilon=0.5
    )

    assert engine.spends_seen == [1]


def test_a_promise_under_another_relation_is_refused(curator, visits, ledger):
    with pytest.raises(UnsupportedError, match="not under Replace"):
        Curator({"visits": visits}, budget=PureDP(1, neighbours=Replace), ledger=Ledger.open(":memory:"))
    with pytest.raises(UnsupportedError, match="not under Replace"):
        curator.ask(COUNT, budget=PureDP(1, neighbours=Replace))
    assert curator.ask(COUNT, budget=PureDP(1, neighbours=AddRemove)).cost == PureDP(1, neighbours=AddRemove)


@pytest.mark.parametrize(
    "condition", ["FLOOR(age / 1e30) = 0", "age * 0 < 1e-39", "LEAST(age * 0, 1e-30) = 0", "age * 0 = 1e-30"]
)
def test_a_constant_that_no_engine_takes_is_refused_free_of_charge(curator, condition):
    with pytest.raises(UnsupportedError, match="64 bits"):
        curator.ask(f"SELECT COUNT(*) FROM visits WHERE {condition}", epsilon=0.5)

    assert curator.budget.balance.spent.epsilon == 0


def test_a_refused_question_reads_no_data(visits, ledger):
    engine = Watched(ledger)
    curator = Curator({"visits": visits}, budget=PureDP(1), ledger=ledger, engine=engine, rng=SeededRandom(1))
    with pytest.raises(BudgetExhausted):
        curator.ask(COUNT, epsilon=2)
    with pytest.raises(UnsupportedError):
        curator.ask("SELECT MODE(age) FROM visits", epsilon=0.1)

    assert engine.spends_seen == []
    assert ledger.budget("patient").balance.spent.epsilon == 0


def test_a_failed_run_is_still_paid_for_and_asking_again_pays_again(visits, ledger):
    engine = Watched(ledger, fails=True)
    curator = Curator({"visits": visits}, budget=PureDP(1), ledger=ledger, engine=engine, rng=SeededRandom(1))
    with pytest.raises(DiscreetError, match="the run failed"):
        curator.ask(COUNT, epsilon=0.25)
    assert ledger.budget("patient").balance.spent.epsilon == 0.25

    engine.fails = False
    curator.ask(COUNT, epsilon=0.25)  # charged but never stored: a new release

    assert ledger.budget("patient").balance.spent.epsilon == 0.5


def test_the_same_question_is_the_same_answer_and_free(curator):
    first = curator.ask(COUNT, epsilon=0.25)
    again = curator.ask("select ward, count(*) as n from visits group by 1", epsilon=0.25)

    assert again.receipt.replayed
    assert again.table.equals(first.table)
    assert curator.budget.balance.spent.epsilon == 0.25


def test_a_fresh_draw_another_price_or_another_analyst_pays(curator):
    first = curator.ask(COUNT, epsilon=0.25)
    fresh = curator.ask(COUNT, epsilon=0.25, fresh=True)
    curator.ask(COUNT, epsilon=0.125)
    other = curator.ask(COUNT, epsilon=0.25, analyst="eve")

    assert curator.budget.balance.spent.epsilon == 0.875
    assert not fresh.table.equals(first.table)
    assert not other.receipt.replayed


def test_explaining_reads_nothing_and_spends_nothing(visits, ledger):
    engine = Watched(ledger)
    curator = Curator({"visits": visits}, budget=PureDP(1), ledger=ledger, engine=engine, rng=SeededRandom(1))
    text = str(curator.explain("SELECT ward, COUNT(*), AVG(cost), STDDEV(age) FROM visits GROUP BY ward", epsilon=0.5))

    assert "nothing was read, nothing was spent" in text
    assert engine.spends_seen == []
    assert ledger.budget("patient").balance.spent.epsilon == 0


@pytest.mark.parametrize("budget", [PureDP(0.1), ApproxDP(0.1, 1e-6), ZCDP(0.01)], ids=str)
def test_the_price_explained_is_the_price_charged(curator, budget):
    explained = curator.explain(COUNT, budget=budget).plan.price
    receipt = curator.ask(COUNT, budget=budget).receipt

    assert receipt.price == explained


def test_tables_of_the_same_people_share_one_cap(visits, ledger):
    curator = Curator({"visits": visits, "stays": visits}, budget=PureDP(1), ledger=ledger, rng=SeededRandom(1))
    curator.ask(COUNT, epsilon=0.75)
    with pytest.raises(BudgetExhausted):
        curator.ask(COUNT.replace("visits", "stays"), epsilon=0.5)


def test_a_predictable_source_is_paid_for_by_testing_ledgers_only(visits):
    curator = Curator({"visits": visits}, budget=PureDP(1), ledger=":memory:", rng=SeededRandom(1))
    with pytest.raises(LedgerError, match="predictable"):
        curator.ask(COUNT, epsilon=0.5)


def test_noise_is_what_the_plan_says(visits, ledger):
    """Replay the same seed on an engine of zeros: the noise alone, with the plan's scale."""

    class Zeros:
        def ready(self, table, aggregation):
            """Whatever is asked."""

        def check(self):
            pass

        def run(self, table, aggregation):
            return Sealed(np.zeros((aggregation.cells, len(aggregation.measures)), dtype=np.int64))

    curator = Curator({"visits": visits}, budget=PureDP(10**6), ledger=ledger, engine=Zeros(), rng=SeededRandom(5))
    draws = [curator.ask(COUNT, epsilon=0.5, fresh=True).noisy[0] for _ in range(300)]

    assert np.abs(np.concatenate(draws)).mean() == pytest.approx(
        4.0, rel=0.15
    )  # scale = 2 rows / 0.5; 4.5 sd of the mean


def test_wrong_requests_are_refused_with_a_sentence(curator, visits):
    for wrong in ({}, {"epsilon": 1, "budget": PureDP(1)}, {"epsilon": 0}, {"epsilon": float("nan")}):
        with pytest.raises(ParameterError):
            curator.ask(COUNT, **wrong)
    with pytest.raises(DomainError, match="no table 'visit'; did you mean 'visits'"):
        curator.ask("SELECT COUNT(*) FROM visit", epsilon=1)
    with pytest.raises(ParameterError, match="need a Table"):
        Curator({"visits": "visits.parquet"}, budget=PureDP(1), ledger=":memory:")
    with pytest.raises(ParameterError, match="rows_per_unit"):
        curator.ask(COUNT, epsilon=1, rows_per_unit=0)


def test_rows_may_be_units(rows, ledger):
    from tests.curator.conftest import DOMAIN

    table = Table(rows.drop(["patient"]), domain=DOMAIN.without("patient"), unit=None)
    curator = Curator({"visits": table}, budget=PureDP(4), ledger=ledger, rng=SeededRandom(2))
    answer = curator.ask("SELECT COUNT(*) AS n FROM visits", epsilon=4)

    assert answer.table["n"][0].as_py() == pytest.approx(10_000, abs=10)


def test_mock_rows_come_from_the_declaration_alone(curator):
    fake = curator.mock("visits", 50)

    assert fake.num_rows == 50
    assert fake.equals(curator.mock("visits", 50))
    assert set(fake["ward"].to_pylist()) <= {"cardiology", "oncology", "surgery"}


def test_a_missing_file_or_column_is_refused_and_costs_nothing(tmp_path, rows, ledger):
    import pyarrow.parquet as pq

    from tests.curator.conftest import DOMAIN

    pq.write_table(rows.drop(["ward"]), tmp_path / "narrow.parquet")
    for source, named in (("absent.parquet", "absent.parquet"), ("narrow.parquet", "ward")):
        table = Table(str(tmp_path / source), domain=DOMAIN, unit="patient")
        curator = Curator({"visits": table}, budget=PureDP(1), ledger=ledger, rng=SeededRandom(1))
        with pytest.raises(DomainError, match=named):
            curator.ask(COUNT, epsilon=0.5)

    assert ledger.budget("patient").balance.spent.epsilon == 0


def test_a_number_for_a_budget_and_a_table_without_a_name_are_refused_in_words(visits):
    with pytest.raises(ParameterError, match=r"need a guarantee as budget, such as ApproxDP\(1.0, 1e-6\), got float"):
        Curator({"visits": visits}, budget=1.0, ledger=":memory:")
    with pytest.raises(ParameterError, match=r"need tables by name.*got Table"):
        Curator(visits, budget=PureDP(1), ledger=":memory:")
    curator = Curator({"visits": visits}, budget=PureDP(1), ledger=":memory:")
    with pytest.raises(ParameterError, match=r"need a guarantee as budget.*got float"):
        curator.ask("SELECT COUNT(*) FROM visits", budget=0.1)
