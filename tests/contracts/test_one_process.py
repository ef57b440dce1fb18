"""What counts its uses or keeps noise in memory alone stays in one process, as one object: every class there is.

The classes are found by walking the source: whoever changes its own state after it was made is a `OneProcess`, or
stands below with the reason why a copy of it in another process tells nothing more.
"""

from __future__ import annotations

import ast
import copy
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.composition import Odometer, PrivacyFilter
from discreet.data import Boolean, Domain, Histogram, Integer
from discreet.errors import BudgetExhausted, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.one_process import OneProcess
from discreet.learning import KNeighborsClassifier
from discreet.learning.statistical.oracle import StatisticalQueryOracle
from discreet.learning.vectors.nearest_neighbours_votes import Voters
from discreet.ledger import Ledger
from discreet.local import OneBitMean, RandomizedResponse
from discreet.local.memoised import Devices, Memoised
from discreet.local.rounds import LocalLedger, Question, Rounds
from discreet.local.statistical_oracle import LocalStatisticalOracle
from discreet.mechanisms import SparseVector
from discreet.mechanisms.sparse_vector import Session as SparseSession
from discreet.privacy import PureDP
from discreet.privacy.event import PureEvent
from discreet.queries.statistical import RowFunction
from discreet.release import PrivateMultiplicativeWeights
from discreet.release.online_session import OnlineSession
from discreet.release.online_suspended import Suspended
from discreet.structured.streams.continual import ContinualCounter
from tests.hazmat.test_one_process import in_a_child
from tests.house.repository import PACKAGE, modules, syntax

BIT = Domain({"smokes": Boolean()})
ONES = dc.marginals(BIT, 1)[1]
MEAN = RowFunction(lambda rows: rows[:, 0], low=0, high=1)
PLANE = Domain({"a": Integer(0, 9)})
ZEROS = np.zeros((200, 1))


def _neighbours() -> KNeighborsClassifier:
    model = KNeighborsClassifier(3, queries=9, budget=PureDP(9), domain=PLANE, classes=(0, 1))
    return model.fit(np.arange(10)[:, None], np.arange(10) > 4)


def _online(**settings: object) -> OnlineSession:
    weights = PrivateMultiplicativeWeights(BIT, n=1000, budget=PureDP(1.0), queries=20, **settings)
    return weights.open(Histogram(BIT, [400, 600]))


def _memory() -> Devices:
    devices = Memoised(RandomizedResponse(epsilon=2, size=4), instant=1.5, periods=9).devices()
    devices.begin([0, 1])
    return devices


Made = tuple[Callable[[], object], Callable[[object], object]]
KINDS: dict[type[OneProcess], Made] = {  # how one is made, and a use of what it keeps
    SparseSession: (lambda: SparseVector(epsilon=5, sensitivity=1, threshold=0, count=9).open(), lambda s: s.ask(0)),
    OnlineSession: (_online, lambda s: s.ask(ONES)),
    Suspended: (lambda: _online(suspensions=1).suspend(), lambda s: s.take()),
    StatisticalQueryOracle: (
        lambda: StatisticalQueryOracle(ZEROS, queries=9, epsilon=1.0, n=200),
        lambda s: s.answer(MEAN),
    ),
    LocalStatisticalOracle: (
        lambda: LocalStatisticalOracle(ZEROS, queries=9, epsilon=1.0),
        lambda s: s.answer(MEAN),
    ),
    Voters: (lambda: _neighbours().voters_, lambda s: s.winners(np.array([[1]], dtype=np.int64))),
    ContinualCounter: (lambda: ContinualCounter(horizon=99, upper=1, budget=PureDP(1)), lambda s: s.add(1)),
    Devices: (_memory, lambda s: s.report()),
    LocalLedger: (lambda: LocalLedger(cap=1), lambda s: s.spend(["ann"], "0.1")),
    Rounds: (
        lambda: Rounds(ZEROS[:, 0], cap=1, interaction="full"),
        lambda s: s.ask([Question(OneBitMean(epsilon="0.1"), range(3))]),
    ),
    PrivacyFilter: (lambda: PrivacyFilter(PureDP(1)), lambda s: s.spend(PureDP("0.1"))),
    Odometer: (lambda: Odometer(delta=1e-6), lambda s: s.record(PureDP("0.1"))),
}

SAFE = {
    "it is a part of one that refuses": {
        "release.online_session.Gate", "release.online_session.Distribution",
    },
    "its count is on the disk, or its database is the service's": {
        "curator.curator.Curator", "ledger.store.Store", "ledger.store._Forks", "ledger.transaction.Transaction",
        "ledger.book.Book", "ledger.turns.InMemory", "ledger.watch.Watch",
    },
    "it forgets its key and its buffer in a child": {
        "hazmat.entropy._CounterMode", "hazmat.entropy.SystemRandom", "hazmat.entropy.SeededRandom", "hazmat.pool.Pool",
        "learning.neural.draws.Draws",
    },
    "it lives inside one call that was paid for, and nobody is given it": {
        "data.engines.bounding.Store", "data.engines.bounding.Rows", "data.engines.bounding.Scratch",
        "learning.neural.batches.Batches", "learning.neural.checkpoint.Checkpoint", "learning.neural.draws.DrawsAhead",
        "learning.neural.noise.NoisySums", "learning.neural.run.Walk", "learning.neural.training.BlockSums",
        "learning.statistical.tree._Node", "learning.vectors.principal_components_fit._InMemory",
        "learning.vectors.principal_components_fit._InEngine", "release.mwem_fit.Fit",
        "structured.graphs.ladder._Rungs",
    },
    "all that it keeps is public, or can be made again from what is": {
        "attacks.replay.Tape", "data.engines.spark.Spark", "data.engines.tables_of_counts.TablesOfCounts",
        "hazmat.table.Table", "learning.neural.network._Network", "local.parity_separation.ParityAdversary",
        "local.rejection.SimulatedUsers", "planning.predict.Allowance",
        "planning.predict.StandIn", "queries.marginals.Marginals", "threads._Gate",
        "privacy.worst.Rows", "queries.scalar.Scope",
        "release.gamma2_solver._State", "release.models.estimate_problem.Problem",
        "release.models.graphical.GraphicalModel", "release.mwem_universe.Bits",
        "structured.marginals.consistency._Average", "structured.quantiles.rank_index.RankIndex",
        "structured.streams.banded.Response", "structured.streams.toeplitz.Covariance",
    },
    "what it holds was made private by the devices": {
        "local.protocol.Server", "local.shuffle.Shuffler",
    },
}  # fmt: skip
ELSEWHERE = ("cli", "service")  # processes of their own, which hold no row and no noise
CHANGES = {
    "append", "add", "pop", "popleft", "popitem", "clear", "extend", "update", "insert", "remove", "discard",
    "setdefault", "sort", "appendleft",
}  # fmt: skip


def _changed(method: ast.FunctionDef) -> Iterator[str]:
    """The attributes of its own object that a method changes."""
    me = method.args.args[0].arg
    for node in ast.walk(method):
        match node:
            case ast.Assign():
                places = node.targets
            case ast.AugAssign() | ast.AnnAssign():
                places = [node.target]
            case ast.Call(func=ast.Attribute(attr=name)) if name in CHANGES:
                places = [node.func.value]
            case ast.Call(args=[ast.Name(id=name), ast.Constant(value=str(attribute)), *_]) if name == me:
                if ast.unparse(node.func) in ("object.__setattr__", "setattr"):
                    yield attribute
                continue
            case _:
                continue
        while places:
            place = places.pop()
            if isinstance(place, ast.Tuple | ast.List):
                places = [*places, *place.elts]
            while isinstance(place, ast.Attribute | ast.Subscript | ast.Starred):
                if isinstance(place, ast.Attribute) and isinstance(place.value, ast.Name) and place.value.id == me:
                    yield place.attr
                place = place.value


def changing(text: ast.Module) -> set[str]:
    """The classes that change their own state after they were made; what a `fit` keeps (`coef_`) was released."""
    made = {"__init__", "__new__", "__post_init__"}
    return {
        found.name
        for found in ast.walk(text)
        if isinstance(found, ast.ClassDef)
        and any(
            not attribute.endswith("_")
            for method in found.body
            if isinstance(method, ast.FunctionDef) and method.name not in made and method.args.args
            for attribute in _changed(method)
        )
    }


def _named(kind: type) -> str:
    return f"{kind.__module__.removeprefix('discreet.')}.{kind.__qualname__}"


def test_every_class_that_changes_itself_is_in_one_process_or_is_known_to_be_safe():
    found = {
        f"{'.'.join(path.relative_to(PACKAGE).with_suffix('').parts)}.{name}"
        for path in modules(PACKAGE)
        if path.relative_to(PACKAGE).parts[0] not in ELSEWHERE
        for name in changing(syntax(path))
    }
    known = set().union(*SAFE.values()) | {_named(kind) for kind in KINDS} - {_named(Suspended)}

    assert found - known - {_named(Suspended)} == set(), "count on the disk, or be a OneProcess"
    assert set().union(*SAFE.values()) - found == set(), "these change nothing any more"


def test_the_walk_finds_a_count_that_is_kept_in_memory():
    twin = "class Twin:\n    def __init__(self): self.left = 3\n    def ask(self): self.left -= 1\n"

    assert changing(ast.parse(twin)) == {"Twin"}
    assert changing(ast.parse(twin.replace("self.left -= 1", "self._kept[0] = 1"))) == {"Twin"}
    assert changing(ast.parse(twin.replace("self.left -= 1", "return self.left"))) == set()


def test_every_kind_there_is_is_tried_here():
    assert {_named(kind) for kind in OneProcess.__subclasses__() if kind.__module__.startswith("discreet.")} == {
        _named(kind) for kind in KINDS
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_it_is_used_in_the_process_that_made_it_alone(kind):
    made, use = KINDS[kind]
    one = made()
    use(one) if kind is not Suspended else None

    assert "UnsupportedError" in (said := in_a_child(lambda: use(one)))
    assert "forked" in said
    use(one)  # it goes on where it was made


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_it_is_one_object(kind, duplicate):
    with pytest.raises(UnsupportedError, match="cannot be copied or pickled"):
        duplicate(KINDS[kind][0]())


def test_a_model_that_counts_its_elections_shares_the_count_with_a_shallow_copy_and_refuses_a_deep_one():
    model = _neighbours()
    other = copy.copy(model)
    other.predict([[1]])

    assert model.queries_left_ == 8
    with pytest.raises(UnsupportedError, match="copied"):
        copy.deepcopy(model)


def test_forked_children_predict_nothing_and_the_parent_predicts_on():
    """The finding: ten rows in each of four children, for the price of ten."""
    model = _neighbours()
    said = [in_a_child(lambda: model.predict([[1]])) for _ in range(4)]

    assert ["forked" in one for one in said] == [True] * 4
    assert len(model.predict([[1]])) == 1


def test_two_threads_count_every_step_and_neither_is_told_that_the_counter_was_saved():
    counter = ContinualCounter(horizon=4000, upper=1, budget=PureDP(1), rng=SeededRandom(1))
    start = threading.Barrier(4)

    def count() -> int:
        start.wait()
        return sum(len(counter.add_many([1, 1])) for _ in range(200))

    with ThreadPoolExecutor(4) as pool:
        counted = [one.result() for one in [pool.submit(count) for _ in range(4)]]

    assert counted == [400] * 4
    assert counter.steps == 1600


def test_threads_charge_users_no_more_than_the_cap():
    ledger = LocalLedger(cap=1)

    def spend(_: int) -> int:
        try:
            ledger.spend(["ann"], Fraction(1, 10))
        except BudgetExhausted:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(100))) == 10


def test_a_ledger_whose_count_is_on_the_disk_goes_on_in_a_child(tmp_path):
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        ledger.register(unit="patient", cap=PureDP(1))
        price = PureEvent(epsilon="1/4")
        said = [in_a_child(lambda: ledger.spend(price, unit="patient", tables=["visits"])) for _ in range(2)]
        ledger.spend(price, unit="patient", tables=["visits"])

        assert said == ["none", "none"]
        assert ledger.budget("patient").balance.spent.epsilon == Fraction(3, 4)
