"""discreet.synthesis.linked: models of tables that share a unit, each claim in the module docstring in order."""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.composition.price import price
from discreet.data.engines import semantics
from discreet.data.engines.duckdb import DuckDB, checked
from discreet.data.engines.linked_positions import linked_positions, ready
from discreet.data.records import Records
from discreet.errors import DomainError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.release.models.graphical import GraphicalModel
from discreet.synthesis import LinkedSynthesizer, Synthesizer, singles
from tests.scale import counts
from tests.synthesis.test_synthesizer import Tape

K = 3
DOMAINS = {
    "people": dc.Domain({"age": dc.Integer(0, 4), "sex": dc.Boolean()}),
    "visits": dc.Domain({"ward": dc.Categorical(list("pqr")), "icu": dc.Boolean()}),
}
PAIRS = counts(quick=6, full=100)
UNITS = counts(quick=12, full=80)


def made_up(n, *, seed, most=6):
    """Older people have more visits, and more of them in intensive care."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 5, n)
    people = pd.DataFrame({"who": np.arange(n) + 100, "age": age, "sex": rng.random(n) < 0.5})
    owner = np.repeat(np.arange(n), np.minimum(rng.poisson(0.4 + 0.7 * age), most))
    icu = rng.random(len(owner)) < 0.05 + 0.2 * age[owner]
    ward = np.where(icu, "p", rng.choice(list("pqr"), len(owner)))
    return {"people": people, "visits": pd.DataFrame({"who": owner + 100, "ward": ward, "icu": icu})}


def linked(budget=dc.ZCDP(0.5), **more):  # noqa: B008 - a value
    return LinkedSynthesizer(DOMAINS, parent="people", rows_per_unit={"visits": K}, budget=budget, **more)


def read(tables, most=K):
    """What is fitted, as counts of all cells: people with their numbers, visits with their people."""
    found = linked_positions(tables, DOMAINS, unit="who", rows_per_unit={"visits": most})
    shapes = {"people": (5, 2, most + 1), "visits": (3, 2, 5, 2, most + 1)}
    made = {}
    for name, columns in found.items():
        made[name] = np.zeros(shapes[name], dtype=np.int64)
        np.add.at(made[name], tuple(columns), 1)
    return made


def without(tables, who):
    return {name: frame[frame["who"] != who] for name, frame in tables.items()}


def test_keys_join_and_values_are_valid():
    made = linked().fit(made_up(2000, seed=1), unit="who", rng=SeededRandom(1)).sample(1500, rng=SeededRandom(2))
    people, visits = (made[name].to_pandas() for name in ("people", "visits"))

    assert list(people) == ["who", "age", "sex"]
    assert list(visits) == ["who", "ward", "icu"]
    assert people["who"].tolist() == list(range(1500))
    assert set(visits["who"]) <= set(people["who"])
    assert visits.groupby("who").size().max() <= K
    assert set(visits["ward"]) <= set("pqr")
    assert people["age"].between(0, 4).all()


def test_children_follow_their_parents():
    """Number of visits and intensive care by age, which lies in the other table; a twin that ignores it does not."""
    real = made_up(8000, seed=2, most=K)

    def shares(tables):
        joined = tables["visits"].merge(tables["people"], on="who")
        number = tables["people"]["who"].map(tables["visits"].groupby("who").size()).fillna(0)
        return joined.groupby("age")["icu"].mean(), number.groupby(tables["people"]["age"]).mean()

    truth = shares(real)
    off = {}
    for method in ("adaptive", "independent"):
        fitted = linked(dc.ZCDP(1), method=method).fit(real, unit="who", rng=SeededRandom(1))
        drawn = {name: table.to_pandas() for name, table in fitted.sample(8000, rng=SeededRandom(2)).items()}
        off[method] = [float((ours - exact).abs().max()) for ours, exact in zip(shares(drawn), truth, strict=True)]

    assert off["adaptive"][0] < 0.07
    assert off["adaptive"][1] < 0.15
    assert off["independent"][0] > 0.2
    assert off["independent"][1] > 0.5


def test_the_shares_add_up_to_the_budget():
    for budget in (dc.PureDP(1), dc.ZCDP(Fraction(1, 10)), dc.ApproxDP(1, 1e-6)):
        made = linked(budget)
        costs = [price(one.budget) for one in made.synthesizers().values()]
        if isinstance(budget, dc.PureDP):
            assert sum(cost.epsilon for cost in costs) == 1
        elif isinstance(budget, dc.ZCDP):
            assert sum(cost.rho for cost in costs) == Fraction(1, 10)
        else:
            assert dc.ZCDP(sum(cost.rho for cost in costs)).to_approx(1e-6).epsilon <= 1
        assert made.privacy() == budget.under(AddRemove)
        assert len(made.event().events) == 2


def test_noise_of_a_child_is_for_all_its_rows_of_a_unit():
    """Sold at the noise of one row, a child would promise a ninth of the rho that it spends."""
    made = linked(dc.ZCDP(0.5)).synthesizers()
    parent, child = made["people"], made["visits"]
    twin = replace(child, rows_per_unit=1)

    assert (parent.rows_per_unit, child.rows_per_unit) == (1, K)
    assert float(child.schedule.noise.sigma) == pytest.approx(K * float(twin.schedule.noise.sigma))
    assert child.schedule.choice.sensitivity == K * twin.schedule.choice.sensitivity
    tables = made_up(60, seed=3)
    often = tables["visits"]["who"].value_counts().index[0]
    assert (read(tables)["visits"] - read(without(tables, often))["visits"]).sum() == K  # reached: nothing to spare


def test_a_unit_moves_one_row_of_the_parent_and_its_rows_of_a_child():
    """Units removed in turn: nobody else's rows change; a twin that keeps all children moves by more."""
    tables = made_up(UNITS, seed=0)
    whole, twin = read(tables), read(tables, most=6)
    largest = beyond = 0
    for who in tables["people"]["who"]:
        less, all_of_it = read(without(tables, who)), read(without(tables, who), most=6)
        people, visits = (whole[name] - less[name] for name in ("people", "visits"))

        assert people.min() >= 0
        assert people.sum() == 1
        assert visits.min() >= 0
        largest = max(largest, visits.sum())
        beyond = max(beyond, (twin["visits"] - all_of_it["visits"]).sum())

    assert largest == K
    assert beyond > K


def test_children_cut_in_the_order_of_the_table_are_caught():
    """The twin keeps the first rows, whoever's: with one unit less, rows of others come in."""
    tables = made_up(40, seed=1)
    room, first = len(tables["visits"]) // 2, tables["visits"]["who"].iloc[0]

    def others(part):
        kept = part["visits"].head(room)
        return kept[kept["who"] != first].groupby("who").size()

    assert not others(tables).equals(others(without(tables, first)))
    ours = read(tables)["visits"] - read(without(tables, first))["visits"]
    assert ours.min() >= 0


def test_rows_without_a_parent_and_second_rows_of_one_are_dropped():
    tables = made_up(30, seed=4)
    more = {
        "people": pd.concat([tables["people"], tables["people"].assign(age=0)]),
        "visits": pd.concat([tables["visits"], pd.DataFrame({"who": [999], "ward": ["p"], "icu": [True]})]),
    }
    found = read(more)

    assert found["people"].sum() == 30
    assert found["visits"].sum() == read(tables)["visits"].sum()
    assert (found["people"].sum(axis=(0, 1)) * np.arange(K + 1)).sum() == found["visits"].sum()


def neighbour(tables, kind, rng):
    """A unit less, a unit more, or a unit with values that were never seen and far too many visits."""
    if kind == "less":
        return without(tables, int(rng.choice(tables["people"]["who"])))
    who = 5000
    odd = kind == "odd"
    person = pd.DataFrame({"who": [who], "age": [10**6 if odd else 2], "sex": [True]})
    visits = pd.DataFrame({"who": [who] * (50 if odd else 2), "ward": "r", "icu": odd})
    return {"people": pd.concat([tables["people"], person]), "visits": pd.concat([tables["visits"], visits])}


@dataclass(frozen=True)
class Copied:
    """A broken model of the parent: its people have the numbers of visits that the table has, from the most down."""

    model: GraphicalModel
    numbers: np.ndarray

    @classmethod
    def of(cls, made, tables):
        found = linked_positions(tables, DOMAINS, unit="who", rows_per_unit={"visits": K})["people"][-1]
        head = made.models["people"]
        broken = replace(head, model=cls(head.model, np.sort(found)[::-1]))
        return replace(made, models={**made.models, "people": broken})

    @property
    def total(self):
        return self.model.total

    def sample(self, count, *, rng):
        drawn = self.model.sample(count, rng=rng)
        columns = [drawn.column(name) for name in drawn.domain]
        return Records(drawn.domain, [*columns[:-1], np.resize(self.numbers, count)])


def alike(first, second):
    """Whether keys, numbers and rows that two fits draw are equal."""
    one, two = (made.sample(rng=SeededRandom(1)) for made in (first, second))
    return first.units == second.units and all(one[name].equals(two[name]) for name in one)


def test_with_the_same_mechanism_outputs_neighbours_give_the_same_tables(monkeypatch):
    """Record what the mechanisms released on D, replay it on D': keys, numbers and rows are equal.

    The twin copies the numbers of visits from the data, and the same comparison tells.
    """
    synthesizer, rng, differences, caught = linked(dc.ZCDP(0.2)), np.random.default_rng(7), 0, 0
    for number in range(PAIRS):
        tables, tape = made_up(60, seed=number), Tape()
        other = neighbour(tables, ["less", "more", "odd"][number % 3], rng)
        with monkeypatch.context() as patched:
            patched.setattr(Exponential, "__call__", tape.through(Exponential.__call__))
            patched.setattr(Gaussian, "__call__", tape.through(Gaussian.__call__))
            patched.setattr(singles, "measured", tape.through(singles.measured, whole=True))
            first = synthesizer.fit(tables, unit="who", rng=SeededRandom(number))
            called = tape.calls
            tape.replayed()
            second = synthesizer.fit(other, unit="who", rng=SeededRandom(number))
        differences += not (alike(first, second) and called == tape.calls)
        caught += not alike(Copied.of(first, tables), Copied.of(second, other))

    assert differences == 0
    assert caught > PAIRS // 2


def test_the_numbers_are_noisy_and_never_the_tables():
    tables = made_up(400, seed=1)
    made = [linked(dc.ZCDP(0.001)).fit(tables, unit="who", rng=SeededRandom(seed)) for seed in range(5)]

    assert len({one.units for one in made}) > 3
    assert len({one.sample(300, rng=SeededRandom(1))["visits"].num_rows for one in made}) > 3


def test_several_children_and_many_rows_each():
    """Numbers above the usual count of intervals stay numbers."""
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"who": range(300), "sex": rng.random(300) < 0.5})
    calls = pd.DataFrame({"who": np.repeat(np.arange(300), 90), "long": rng.random(27_000) < 0.3})
    notes = pd.DataFrame({"who": np.arange(300), "kind": rng.integers(0, 3, 300)})
    domains = {
        "people": dc.Domain({"sex": dc.Boolean()}),
        "calls": dc.Domain({"long": dc.Boolean()}),
        "notes": dc.Domain({"kind": dc.Integer(0, 2)}),
    }
    limits = {"calls": 90, "notes": 1}
    made = LinkedSynthesizer(domains, parent="people", rows_per_unit=limits, budget=dc.ZCDP(50), most=8)
    tables = made.fit({"people": people, "calls": calls, "notes": notes}, unit="who", rng=SeededRandom(1)).sample(200)

    assert list(tables) == ["people", "calls", "notes"]
    assert made.shares()["notes"] == dc.ZCDP(Fraction(50, 4))
    assert 80 < tables["calls"].num_rows / 200 <= 90


def test_files_and_tables_without_rows(tmp_path):
    tables = made_up(50, seed=1)
    empty = {name: frame.head(0) for name, frame in tables.items()}
    made = linked(memory=1 << 27).fit(tables, unit="who", rng=SeededRandom(1))
    files = made.write(tmp_path / "made", 20, rng=SeededRandom(1))
    reports = made.report(tmp_path / "pages")

    assert [file.name for file in files] == ["people.parquet", "visits.parquet"]
    assert len(pd.read_parquet(files[0])) == 20
    assert "number of visits" in (tmp_path / "pages" / "people.html").read_text()
    assert len(reports["visits"].measurements) > 5
    assert linked().fit(empty, unit="who", rng=SeededRandom(1)).sample(5)["people"].num_rows == 5


def test_what_no_theorem_covers_is_refused_before_anything_is_read():
    good = {"parent": "people", "rows_per_unit": {"visits": 2}, "budget": dc.ZCDP(1)}
    for bad, kind in [
        ({"parent": "nobody"}, ParameterError),
        ({"rows_per_unit": {}}, ParameterError),
        ({"rows_per_unit": {"visits": 0}}, ParameterError),
        ({"rows_per_unit": {"visits": True}}, ParameterError),
        ({"rows_per_unit": {"visits": 2, "people": 1}}, ParameterError),
        ({"budget": dc.ZCDP(0)}, ParameterError),
        ({"budget": dc.ApproxDP(1, 0)}, UnsupportedError),
        ({"budget": dc.ZCDP(1, neighbours=Replace)}, UnsupportedError),
        ({"budget": dc.ZCDP("1e-20")}, UnsupportedError),
        ({"budget": dc.PureDP("1e-16")}, UnsupportedError),
        ({"method": "gan"}, ParameterError),
    ]:
        with pytest.raises(kind):
            LinkedSynthesizer(DOMAINS, **(good | bad))
    with pytest.raises(ParameterError, match="at least one child"):
        LinkedSynthesizer({"people": DOMAINS["people"]}, **(good | {"rows_per_unit": {}}))
    clash = {**DOMAINS, "people": dc.Domain({"number of visits": dc.Boolean()})}
    with pytest.raises(DomainError, match="is taken"):
        LinkedSynthesizer(clash, **good)
    with pytest.raises(ParameterError, match="data for every table"):
        linked().fit({"people": made_up(5, seed=1)["people"]}, unit="who")
    with pytest.raises(DomainError, match="no column 'whom'"):
        linked().fit(made_up(5, seed=1), unit="whom")
    mixed = made_up(5, seed=1)
    mixed["visits"] = mixed["visits"].assign(who=mixed["visits"]["who"].astype(str))
    with pytest.raises(DomainError, match="must be all integers, all texts or of one type"):
        linked().fit(mixed, unit="who")
    assert isinstance(linked().synthesizers()["visits"], Synthesizer)


@pytest.mark.parametrize("whose", ["people", "visits"])
def test_integers_with_and_without_a_sign_name_no_unit_together(whose):
    """Joined by their codes, 2^63 + 5 without a sign would be person 5; narrow ones without a sign are their values."""
    tables = made_up(30, seed=1)
    wide = {**tables, whose: tables[whose].astype({"who": np.uint64})}
    both = {name: frame.astype({"who": np.uint64}) for name, frame in tables.items()}
    small = {**tables, whose: tables[whose].astype({"who": np.uint32})}

    with pytest.raises(DomainError, match=r"all integers, all texts or of one type in .*'INTEGER', 'UBIGINT'"):
        read(wide)
    with pytest.raises(DomainError, match="all integers, all texts or of one type"):
        ready(wide, DOMAINS, unit="who")
    for same in (both, small):
        assert (read(same)["people"] == read(tables)["people"]).all()
        assert read(same)["visits"].sum() == read(tables)["visits"].sum()


def test_an_engine_that_computes_otherwise_joins_nothing(monkeypatch):
    tables = made_up(5, seed=1)
    monkeypatch.setattr(semantics, "ASSUMED", (*semantics.ASSUMED, ("1 // 0 IS NULL", True)))
    checked.cache_clear()  # the self-test ran before, on an engine that passed it

    with pytest.raises(UnsupportedError, match="1 // 0"):
        ready(tables, DOMAINS, unit="who")
    with pytest.raises(UnsupportedError, match="1 // 0"):
        read(tables)
    with pytest.raises(UnsupportedError, match="1 // 0"):
        linked().fit(tables, unit="who", engine=DuckDB(memory="1GB"))


def test_progress_is_shown_for_each_table(monkeypatch):
    seen = []

    @contextmanager
    def noting(rounds, *, shown):
        seen.append((rounds, shown))
        yield lambda done: None

    monkeypatch.setattr("discreet.synthesis.synthesizer.bar", noting)
    tables = made_up(20, seed=1)
    made = linked(method="tree")
    made.fit(tables, unit="who", rng=SeededRandom(1), progress=True)
    made.fit(tables, unit="who", rng=SeededRandom(1))
    rounds = [one.schedule.rounds for one in made.synthesizers().values()]

    assert seen == [(number, shown) for shown in (True, False) for number in rounds]
