"""Without `rng` every run draws anew, from the one generator, and no two of its measurements share a draw.

The places in the source that may be seeded are listed by name, each with what it draws; a run that nobody seeded may
not meet a seed on its way, and may not draw the same twice.
"""

from __future__ import annotations

import ast
import itertools
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet
import discreet as dc
from discreet.errors import UnsupportedError
from discreet.hazmat.entropy import SeededRandom, SystemRandom
from discreet.hazmat.pool import Pool
from discreet.learning import NaiveBayes
from discreet.local import LocalProtocol, run
from discreet.queries.compile import Rank
from discreet.structured.quantiles.quantile_bound import QuantileBound
from tests.contracts import programs, test_replay_learning, test_replay_synthesis
from tests.contracts.orders import OTHERS, QUESTIONS, ask, curator, rows
from tests.contracts.test_estimators import BUDGETS, NAMES, made
from tests.contracts.test_estimators import rows as table
from tests.contracts.test_mechanisms import CASES, additive_errors
from tests.contracts.test_replay_local import PROTOCOLS, N, codes

SOURCE = Path(discreet.__file__).parent
SEEDS = {"SeededRandom", "default_rng", "manual_seed", "Random", "RandomState", "seed"}
PUBLIC = {
    "attacks": "an attack, or a naive mechanism that is shown to fail",
    "bounds/communication.py": "hash functions that are public",
    "bounds/discrepancy_walk.py": "a search on a public matrix",
    "cli/audit.py": "--seed of an audit",
    "curator/audits": "audits are drawn again by their seed",
    "curator/mock.py": "rows made of the declaration",
    "curator/sample.py": "rows made of a release",
    "curator/speed.py": "numpy's speed beside ours",
    "curator/sweep.py": "a target that is planted in rows made of the declaration",
    "data/histogram.py": "made-up data",
    "data/records.py": "made-up data",
    "hazmat/entropy.py": "the class itself",
    "learning/budget_curve.py": "made-up splits of public rows",
    "learning/neural/per_example_gradients.py": "where training starts",
    "learning/neural/probe.py": "a public probe of a module",
    "learning/trees/boosted_rounds.py": "seeded by the generator, for public coins",
    "learning/trees/random_forest.py": "seeded by the generator, for public coins",
    "planning/predict.py": "a rehearsal on made-up rows",
    "queries/counting.py": "queries that are chosen at random, public",
    "release/strategies_pure.py": "where a public search starts",
    "service/running/work.py": "rows of a synthetic table, by the caller's seed",
    "synthesis/adaptive.py": "an order of public tables",
    "synthesis/explain.py": "a rehearsal on made-up rows",
    "synthesis/quality_learning.py": "figures on synthetic rows",
    "synthesis/quality_neighbours.py": "figures on synthetic rows",
    "synthesis/quality_tables.py": "figures on synthetic rows",
}


def seeded(source):
    """Whether this text makes a generator from a seed."""
    calls = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return any((one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "")) in SEEDS for one in calls)


def test_seeds_are_met_only_where_they_are_listed():
    files = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    found = {name for name, path in files.items() if seeded(path.read_text(encoding="utf-8"))}
    listed = {name for name in found if any(name == one or name.startswith(one + "/") for one in PUBLIC)}

    assert found == listed
    assert seeded("rng = rng or SeededRandom(7)")
    assert seeded("np.random.default_rng(0).normal()")


OF_THE_GENERATOR = {
    name for name, why in PUBLIC.items() if why.startswith("seeded by the generator")
}  # never a constant


def unlisted(frame):
    """Whether this is code of the package, of a module that may not have a constant for its seed."""
    module = frame.f_globals["__name__"].removeprefix("discreet.").replace(".", "/") + ".py"
    ours = frame.f_globals["__name__"].startswith("discreet.")
    return ours and not any(module == one or module.startswith(one + "/") for one in PUBLIC.keys() - OF_THE_GENERATOR)


class _Entropy:
    """How often the one generator was asked, and by whom seeds were."""

    def __init__(self, patch):
        self.drawn = self.seeds = 0
        for name in ("bits", "words"):
            own = getattr(SystemRandom, name)

            def draw(source, count, real=own):
                self.drawn += 1
                return real(source, count)

            patch.setattr(SystemRandom, name, draw, raising=False)
        patch.setattr(Pool, "take", lambda pool, real=Pool.take: (self._count(), real(pool))[1])

        def begin(random, seed, real=SeededRandom.__init__):
            self.seeds += unlisted(sys._getframe(1))
            real(random, seed)

        patch.setattr(SeededRandom, "__init__", begin)

        def generator(seed=None, real=np.random.default_rng):
            fixed = isinstance(seed, int) and seed < 1 << 64  # longer ones come from the generator itself
            self.seeds += fixed and unlisted(sys._getframe(1))
            return real(seed)

        patch.setattr(np.random, "default_rng", generator)

    def _count(self):
        self.drawn += 1


Y = np.random.default_rng(5).integers(0, 2, len(test_replay_learning.X)).astype(bool)  # so that no hypothesis is clear


def runs():
    """Whatever releases something, by its public name: a function without arguments."""
    for number, case in enumerate(CASES):
        even = (10,) * 4 if isinstance(case.value, tuple) else case.value
        yield (
            f"mechanism {number} {type(case.mechanism).__name__}",
            lambda case=case, even=even: [repr(case.mechanism(even)) for _ in range(60)],
        )
    for number, program in enumerate(programs.PROGRAMS):
        data = program.pair(1)[0]
        yield (
            f"release {number} {type(program.made).__name__}",
            lambda program=program, data=data: [
                repr(program(data)) for _ in range(20 if type(program.made).__name__ in FEW else 1)
            ],
        )
    for name in NAMES:
        yield f"estimator {name}", lambda name=name: fitted(name)
    for learner in test_replay_learning.LEARNERS:
        yield (
            f"learner {type(learner).__name__}",
            lambda learner=learner: [
                repr(test_replay_learning.learnt(learner)((test_replay_learning.X, Y))) for _ in range(20)
            ],
        )
    for protocol in PROTOCOLS:
        yield (
            f"local {type(protocol).__name__}",
            lambda protocol=protocol: repr(run(protocol, codes(protocol)[0]).estimate()),
        )
    for method in ("adaptive", "tree", "independent", "mwem"):
        yield f"synthesizer {method}", lambda method=method: synthesized(method)
    for name, order in OTHERS.items():
        yield f"order {name}", lambda name=name, order=order: ordered(name, order)
    for name, sql in QUESTIONS.items():
        yield (
            f"question {name}",
            lambda sql=sql: ordered("ask", lambda held, _: [ask(held, sql, dc.PureDP("0.01")).noisy for _ in range(3)]),
        )


FEW = {  # what they release takes few values
    "DegreeBound", "GridQuantile", "GridQuantiles", "TriangleBound", "SmallDatabase", "PrivateQuantile", "StableMedian",
    "ContinualCounter",
}  # fmt: skip


def fitted(name):
    for budget in BUDGETS.values():
        model = made(name, budget)
        frame, label, value = table(200)
        y = [label] if hasattr(model, "classes") else [value] if hasattr(model, "bounds") else []
        try:
            model.fit(frame, *y)
        except UnsupportedError:
            continue
        asked = name == "KNeighborsClassifier"  # which draws when it is asked
        shown = model.predict(frame[:20]) if asked else vars(model)
        return repr(model.predict_proba(frame)[:40] if hasattr(model, "predict_proba") else shown)
    raise AssertionError(name)


def synthesized(method):
    frame, _ = test_replay_synthesis.tables("a duplicate", 1)
    make = test_replay_synthesis.Make(method, dc.PureDP(1))
    return repr(make.synthesizer.fit(frame).sample(50).to_pydict())


def ordered(name, order):
    with curator() as held:
        return repr([order(held, dc.PureDP(1)) for _ in range(5 if name == "clipping_bounds" else 1)])


RUNS = dict(runs())
QUIET = {"OfflineWeights", "PrivateMultiplicativeWeights", "TriangleCount", "StableMedian"}  # nearly always alike


@pytest.fixture
def unseeded(monkeypatch):
    """The programs of other tests, without the seeds that they have there."""
    for module in (programs, test_replay_learning):
        monkeypatch.setattr(module, "SeededRandom", lambda _seed: None)


@pytest.mark.parametrize("name", RUNS)
def test_two_runs_without_a_seed_differ_and_meet_none(name, unseeded):
    with pytest.MonkeyPatch.context() as patch:
        watched = _Entropy(patch)
        first = RUNS[name]()
        drawn = watched.drawn
        second = RUNS[name]()

    assert drawn
    assert watched.drawn > drawn
    assert first != second or name.split()[-1] in QUIET
    assert not watched.seeds


def every(kind):
    for one in kind.__subclasses__():
        yield one
        yield from every(one)


def test_every_local_protocol_is_run():
    concrete = {one for one in every(LocalProtocol) if "draw" in vars(one) and one.__module__.startswith("discreet.")}

    assert {one.__name__ for one in concrete} <= {type(protocol).__name__ for protocol in PROTOCOLS} | {
        type(protocol.protocol).__name__ for protocol in PROTOCOLS if hasattr(protocol, "protocol")
    }


def alike(arrays):
    """Pairs of measurements of the same length whose noise is one and the same, or its mirror image."""
    found = []
    for (i, one), (j, two) in itertools.combinations(enumerate(arrays), 2):
        if len(one) == len(two) >= 20 and np.ptp(one) > 0 and np.ptp(two) > 0:
            together = abs(np.corrcoef(one.astype(float), two.astype(float))[0, 1])
            if together > 0.99:
                found.append((i, j))
    return found


@pytest.mark.parametrize("budget", [dc.PureDP("0.01"), dc.ZCDP("0.00001")], ids=str)
@pytest.mark.parametrize("sql", [sql for name, sql in QUESTIONS.items() if "GROUP BY" in sql])
def test_no_two_measurements_of_an_answer_share_a_draw(sql, budget):
    """A table without rows: what is released is noise.  Two independent rows of 40 are never as alike."""
    with curator(rows(0)) as held:
        answer = ask(held, sql, budget)

    assert alike(answer.noisy) == []
    for part, one in zip(answer.noisy, answer.plan.releases, strict=True):
        assert isinstance(one.part, Rank) or len(np.unique(part)) > len(part) // 4


class Watched:
    """A source that counts what is taken from it."""

    secure = True  # as a ledger that is no test's sees it

    def __init__(self):
        self.random, self.drawn = SeededRandom(3), 0

    def bits(self, count):
        self.drawn += 1
        return self.random.bits(count)

    def words(self, count):
        self.drawn += 1
        return self.random.words(count)


@pytest.mark.parametrize("sql", [QUESTIONS["median"], QUESTIONS["two averages"], QUESTIONS["median of groups"]])
def test_every_part_of_an_answer_draws_for_itself(sql, monkeypatch):
    """The two ends of a quantile and its middle too: each is given the curator's own generator, and draws from it."""
    seen, own = [], Watched()
    with curator(rng=own) as held:
        kinds = {type(one.mechanism) for one in ask(held, sql, dc.PureDP(1)).plan.releases}
        for kind in kinds:

            def call(self, *given, rng=None, real=kind.__call__):
                before = own.drawn
                found = real(self, *given, rng=rng)
                seen.append((rng is own, own.drawn > before))
                return found

            monkeypatch.setattr(kind, "__call__", call)
        answer = ask(held, sql, dc.PureDP(1))

    assert seen == [(True, True)] * len(answer.plan.releases)
    assert QuantileBound in kinds


@pytest.mark.parametrize("case", [case for case in CASES if case.errors is additive_errors], ids=str)
def test_the_entries_of_a_release_are_independent(case):
    """Neighbours in an array, and the two halves of one, are uncorrelated within seven standard deviations."""
    noise = np.asarray(case.mechanism(np.zeros(20_000, dtype=np.int64)), dtype=float)
    for one, two in ((noise[:-1], noise[1:]), (noise[:10_000], noise[10_000:]), (noise[::2], noise[1::2])):
        assert abs(np.corrcoef(one, two)[0, 1]) < 0.05


def test_answers_beyond_the_threshold_have_noise_of_their_own():
    """Of NumericSparse: two values far above it, thirty times; equal noise each time has a chance of 10^-9."""
    (numeric,) = (case.mechanism for case in CASES if type(case.mechanism).__name__ == "NumericSparse")
    gaps = [np.ptp(numeric((1000, 1000, 1000))[1]) for _ in range(30)]

    assert Counter(gaps)[0] < 30


def users_apart(protocol):
    """Reports of users who hold the same."""
    same = np.repeat(codes(protocol)[0][:1], N, axis=0)
    reports = protocol.client().report(same)
    return reports if isinstance(reports, np.ndarray) else np.asarray(pd.DataFrame(reports))


@pytest.mark.parametrize(
    "protocol", [one for one in PROTOCOLS if hasattr(one, "client")], ids=lambda one: type(one).__name__
)
def test_users_who_hold_the_same_report_for_themselves(protocol):
    try:
        reports = users_apart(protocol)
    except (TypeError, ValueError):
        pytest.fail(f"say how {type(protocol).__name__} reports")

    assert len(np.unique(np.asarray(reports), axis=0)) > 1


def test_a_seed_on_the_way_is_seen():
    """The twin of all: one draw of many is seeded, and the runs differ nevertheless."""
    with pytest.MonkeyPatch.context() as patch:
        watched = _Entropy(patch)
        twin = NaiveBayes._learn.__globals__  # as if a module of the package had one
        run = eval("lambda noisy: [noisy(0), noisy(0, rng=seeded(1))]", {**twin, "seeded": SeededRandom})
        one, two = run(CASES[-1].mechanism.answers), run(CASES[-1].mechanism.answers)

    assert one[1] == two[1]
    assert watched.seeds == 2
