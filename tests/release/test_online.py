"""discreet.release.online and its parts: privacy by enumeration, accuracy against an adversary, sessions, refusals."""

import copy
import itertools
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, chi2_contingency, chisquare, norm

from discreet.composition.choose import best
from discreet.composition.price import price
from discreet.data.columns import Boolean, Integer
from discreet.data.domain import Domain
from discreet.data.histogram import Histogram
from discreet.errors import BudgetExhausted, DomainError, LedgerError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.queries.local import Box, Junta
from discreet.queries.marginals import marginals
from discreet.release import online_passes, online_session
from discreet.release.online import PrivateMultiplicativeWeights
from discreet.release.online_passes import OfflineWeights
from discreet.release.online_session import Distribution, Gate, OnlineSession, span
from discreet.release.online_settings import Settings, Task, settle, settle_passes
from discreet.release.online_suspended import Suspended
from tests.scale import counts

BIT = Domain({"bit": Boolean()})
ONES, ZEROS = Box(BIT, ("bit",), (1,), (1,)), Box(BIT, ("bit",), (0,), (0,))
REACH, MARGINS = 60, 4  # noise summed over, and margins told apart, in the enumeration


def tiny(**changes):
    """Settings for two rows, with noise of a few counts."""
    made = {"updates": 1, "gap": 1, "above": 1, "below": 0, "off": 0, "n": 2, "fresh": True} | changes
    return Settings(**{"epsilon": Fraction(3, 2), "first": Fraction(1, 2)} | made)


def mass(z, scale):
    p = math.exp(-1 / float(scale))
    return (1 - p) * p**z if z >= 0 else 0.0


def under(z, scale):
    """Pr[N < z] for geometric N."""
    return -math.expm1(-max(z, 0) / float(scale))


def law(bits, questions, settings, relation=Replace):
    """Every transcript of a session on a database of bits, so many zeros and ones, with its probability.

    The public side (answers, histogram) is that of the real session, which is led through each transcript by hand.
    """
    chances = {}
    true = {id(ZEROS): bits[0], id(ONES): bits[1]}
    outcomes = [None, *itertools.product((1, -1), range(MARGINS))]

    def follow(transcript):
        """The differences asked about, up to the end of the session."""
        session = OnlineSession(Histogram(BIT, [1, 1]), settings, queries=9, relation=relation, rng=SeededRandom(1))
        steps = []
        for question, outcome in zip(questions, transcript, strict=True):
            if not session.updates_left:
                if outcome is not None:
                    return None  # the data is not asked any more
                continue
            model = round(settings.n * session.distribution.mean(question))
            steps.append((true[id(question)] - model, outcome))
            if outcome is not None:
                session._gate.left -= 1
                session.correct(question, 1, *outcome)
        return steps

    for transcript in itertools.product(outcomes, repeat=len(questions)):
        steps = follow(transcript)
        if steps is None:
            continue
        epochs, running = [], []
        for step in steps:
            running.append(step)
            if step[1] is not None and settings.fresh:
                epochs, running = [*epochs, running], []
        chances[transcript] = math.prod(epoch_chance(epoch, settings) for epoch in [*epochs, running] if epoch)
    return chances


def epoch_chance(steps, settings, shift=0):
    """Sum over the threshold's noise of the probability of these replies."""
    whole = 0.0
    for r in range(REACH):
        chance, level = mass(r, settings.threshold_scale), settings.threshold + r + shift
        for f, outcome in steps:
            low = under(level - f, settings.query_scale)
            if outcome is None:
                chance *= low * under(level + f, settings.query_scale)
            elif outcome[0] > 0:
                chance *= mass(level + outcome[1] - f, settings.query_scale)
            else:
                chance *= low * mass(level + outcome[1] + f, settings.query_scale)
        whole += chance
    return whole


REPLACED = [((2, 0), (1, 1)), ((1, 1), (0, 2))]
ADDED = [((2, 0), (2, 1)), ((1, 1), (1, 2)), ((0, 1), (0, 2)), ((1, 0), (1, 1))]


def worst(settings, questions, relation):
    pairs = REPLACED if relation is Replace else ADDED
    laws = {bits: law(bits, questions, settings, relation) for pair in pairs for bits in pair}
    both = [*pairs, *((b, a) for a, b in pairs)]

    return max(p / laws[b][run] for a, b in both for run, p in laws[a].items() if p > 1e-300)


@pytest.mark.parametrize("relation", [Replace, AddRemove], ids=lambda relation: relation.__name__)
@pytest.mark.parametrize("fresh", [True, False], ids=["fresh", "shared"])
@pytest.mark.parametrize("updates", [1, 2])
@pytest.mark.parametrize("questions", [(ONES, ONES), (ONES, ZEROS)], ids=["same", "both"])
def test_transcripts_of_neighbours_differ_by_at_most_the_price(fresh, updates, questions, relation):
    """The definition, over all transcripts of two questions about two bits, margins and public histogram included."""
    settings = tiny(updates=updates, fresh=fresh)

    assert worst(settings, questions, relation) <= math.exp(price(settings.event()).epsilon) * (1 + 1e-9)


def test_transcripts_follow_the_stated_law(monkeypatch):
    settings, runs, questions = tiny(updates=2), 6000, (ONES, ZEROS)
    truth = law((0, 2), questions, settings)
    corrected, found, run, rng = OnlineSession.correct, [], [], SeededRandom(5)

    def noted(session, query, wide, sign, margin):
        found.append((sign, margin))
        return corrected(session, query, wide, sign, margin)

    monkeypatch.setattr(OnlineSession, "correct", noted)
    for _ in range(runs):
        session = OnlineSession(Histogram(BIT, [0, 2]), settings, queries=2, relation=Replace, rng=rng)
        replies = []
        for question in questions:
            found.clear()
            session.ask(question)
            replies.append(found[0] if found else None)
        run.append(tuple(replies))
    likely = [replies for replies, chance in truth.items() if runs * chance >= 5]
    expected, observed = [runs * truth[replies] for replies in likely], [run.count(replies) for replies in likely]

    assert chisquare([*observed, runs - sum(observed)], [*expected, runs - sum(expected)]).pvalue > 1e-6


def loss(settings, *, below=100_000, query_scale=None, threshold_scale=None):
    """ln of the ratio of "below" many times and then "above": the first questions rise, the last one falls."""
    query, first = float(query_scale or settings.query_scale), float(threshold_scale or settings.threshold_scale)
    r = np.arange(0, 4000)

    def log_chance(rise, fall):
        terms = -r / first + below * np.log(-np.expm1(-np.maximum(settings.threshold + r - rise, 1e-300) / query))
        return np.logaddexp.reduce(terms - (r + fall) / query)

    return log_chance(settings.threshold - 1, 0) - log_chance(settings.threshold, 1)


def test_the_price_of_an_epoch_is_tight_and_broken_twins_are_caught():
    """Noise x 0.9; the factor 2 of a question forgotten; the threshold's noise halved."""
    settings = tiny(epsilon=Fraction(1, 2), first=Fraction(1, 5), gap=20, above=10)

    assert 0.98 * 0.5 < loss(settings) <= 0.5 + 1e-9
    assert loss(settings, query_scale=settings.query_scale * 0.9) > 0.5
    assert loss(settings, query_scale=settings.query_scale / 2) > 0.7
    assert loss(settings, threshold_scale=settings.threshold_scale / 2) > 0.55


def test_a_margin_without_the_noise_of_the_threshold_is_caught():
    """Publishing f + N itself, with the noise of the comparison, would let "below" and the value be played off."""
    settings = tiny(epsilon=Fraction(1, 2), first=Fraction(1, 5), gap=20, above=10)
    query = float(settings.query_scale)

    def log_chance(rise, move):
        r = np.arange(0, 4000)
        below = 100_000 * np.log(-np.expm1(-np.maximum(settings.threshold + r - rise, 1e-300) / query))
        held = np.where(r <= 10, 0.0, -np.inf)  # f + N = T + 10 is above the threshold only if R <= 10
        return np.logaddexp.reduce(-r / float(settings.threshold_scale) + below + held) - move / query

    assert log_chance(settings.threshold - 1, 0) - log_chance(settings.threshold, 1) > 1


@pytest.mark.parametrize(
    ("budget", "n"),
    [
        (PureDP(1), 10**5), (ApproxDP(1.0, 1e-6), 10**5), (ApproxDP(0.3, 1e-9), 10**6), (ZCDP(0.1), 10**5),
        (ApproxDP(1.0, 1e-6), 10**7), (ApproxDP(2, 0), 10**5), (ApproxDP(1.0, 1e-6), 3000),
    ],
)  # fmt: skip
def test_the_epochs_cost_no_more_than_the_budget_and_use_it(budget, n):
    pmw = PrivateMultiplicativeWeights(BIT, n=n, budget=budget, queries=1000)
    event = pmw.event()
    spent = price(event)

    assert pmw.privacy().neighbours is Replace
    if isinstance(budget, ZCDP):
        assert Fraction("0.999") * Fraction(str(budget.rho)) < spent.rho <= Fraction(str(budget.rho))
    elif spent.epsilon <= Fraction(str(budget.epsilon)):
        assert spent.epsilon == Fraction(str(budget.epsilon))
    else:
        assert 0.99 * budget.epsilon < best([event], budget.delta).epsilon <= budget.epsilon


@pytest.mark.parametrize("budget", [PureDP(1), ApproxDP(1.0, 1e-6), ZCDP(0.1)])
def test_a_private_number_of_rows_is_paid_for(budget):
    pmw = PrivateMultiplicativeWeights(BIT, budget=budget, queries=10)
    spent = price(pmw.event())
    session = pmw.open(Histogram(BIT, [40_000, 60_000]), rng=SeededRandom(1))

    assert pmw.privacy().neighbours is AddRemove
    if isinstance(budget, ZCDP):
        assert spent.rho <= Fraction(str(budget.rho))
    else:
        assert spent.epsilon == budget.epsilon
        assert spent.delta == Fraction(str(getattr(budget, "delta", 0)))
    assert session.settings.off > 0
    assert session.settings.n != 100_000  # a noisy one
    assert abs(session.settings.n - 100_000) <= session.settings.off
    with pytest.raises(UnsupportedError, match="number of rows, which is private"):
        pmw.accuracy()


def textbook(n, cells, k, budget, beta=0.05):
    """The fixed point with two-sided noise of one scale, threshold a, error 3a / 2 and the tanh composition."""
    epsilon, delta = budget.epsilon, getattr(budget, "delta", 0)

    def share(updates):
        def over(e):
            bound = updates * e
            if delta:
                bound = min(bound, math.sqrt(2 * updates * math.log(1 / delta)) * e + updates * e * math.tanh(e / 2))
            return bound - epsilon

        return brentq(over, 1e-12, 40) / 4

    def holds(a):
        updates = math.ceil(2 * math.log(cells) / a**2)
        return math.log((k + 2 * updates) / beta) / (share(updates) * n) <= a / 4

    low, high = 1e-4, 1.0
    for _ in range(50):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return 1.5 * high


@pytest.mark.parametrize(
    ("n", "bits", "k", "printed"),
    [(10**5, 10, 10**4, 0.297), (10**6, 16, 10**6, 0.1235), (10**6, 20, 10**6, 0.1306), (10**7, 20, 10**9, 0.0490)],
)
def test_the_error_is_half_of_that_of_the_textbook(n, bits, k, printed):
    budget = ApproxDP(1.0, 1e-6)
    domain = Domain({f"b{i}": Boolean() for i in range(bits)})
    ours = PrivateMultiplicativeWeights(domain, n=n, budget=budget, queries=k).accuracy() / n

    assert textbook(n, 2**bits, k, budget) == pytest.approx(printed, abs=6e-4)
    assert ours < 0.52 * printed


def test_pure_budgets_beat_the_textbook_too():
    domain = Domain({f"b{i}": Boolean() for i in range(10)})
    ours = PrivateMultiplicativeWeights(domain, n=10**6, budget=PureDP(1), queries=10**4).accuracy() / 10**6

    assert ours < 0.5 * textbook(10**6, 2**10, 10**4, PureDP(1))


def test_many_questions_are_cheaper_than_independent_noise_and_few_are_not():
    """n = 1e7 over 2^20 cells: a billion questions; and n = 1e5 over 2^10 with ten thousand."""
    large, small = (Domain({f"b{i}": Boolean() for i in range(bits)}) for bits in (20, 10))
    budget, sigma = ApproxDP(1.0, 1e-6), 4.224679
    many = PrivateMultiplicativeWeights(large, n=10**7, budget=budget, queries=10**9).accuracy()
    few = PrivateMultiplicativeWeights(small, n=10**5, budget=budget, queries=10**4).accuracy()

    assert many < 0.3 * sigma * math.sqrt(10**9) * norm.isf(0.025 / 10**9)
    assert few > 5 * sigma * math.sqrt(10**4) * norm.isf(0.025 / 10**4)


def test_settings_are_the_least_over_updates():
    """No other number of updates, at its own exact price, has an error smaller by more than a hundredth."""
    task, budget = Task(cells=2**10, n=10**5, queries=10**4, betas=(0.025, 0.025)), PureDP(1)
    found = settle(budget, task)
    others = [task.settings(Fraction(1), u, fresh=False).alpha for u in range(1, 2000)]

    assert found.alpha <= 1.01 * min(others)


def test_the_bounds_on_the_noise_hold_and_are_least():
    task = Task(cells=2**10, n=10**5, queries=10**4, betas=(0.025, 0.02))
    settings = settle(ApproxDP(1.0, 1e-6), task)
    p, r = (math.exp(-1 / float(scale)) for scale in (settings.query_scale, settings.threshold_scale))

    assert 2 * task.queries * p**settings.above <= 0.025 < 2 * task.queries * p ** (settings.above - 1)
    assert settings.updates * r ** (settings.below + 1) <= 0.02 < settings.updates * r**settings.below
    assert math.log(2**10) < 2 * (settings.updates + 1) * settings.step**2


def test_passes_are_paid_for_as_questions():
    task = Task(cells=2**10, n=10**5, queries=100, betas=(0.025, 0.025))
    settings = settle_passes(ApproxDP(1.0, 1e-6), task)
    p = math.exp(-1 / float(settings.query_scale))

    assert 2 * 100 * (settings.updates + 1) * p**settings.above <= 0.025


@pytest.fixture
def _no_noise(monkeypatch):
    def zero(scale, *, shape=None, rng=None):
        return 0 if shape is None else np.zeros(shape, dtype=np.int64)

    monkeypatch.setattr(online_session, "geometric", zero)


@pytest.mark.usefixtures("_no_noise")
def test_without_noise_every_update_gains_what_the_theorem_says():
    """Relative entropy falls by at least 2 step^2 at every update, so there are at most ln|X| / (2 step^2) of them."""
    rng, streams = np.random.default_rng(1), counts(quick=250, full=1000)
    domain = Domain({"row": Integer(0, 15)})
    for _ in range(streams):
        x = rng.multinomial(1000, rng.dirichlet(np.full(16, 0.2)))
        gap = int(rng.integers(60, 200))
        most = math.floor(math.log(16) / (2 * ((gap - 0.5) / 1000) ** 2))
        settings = tiny(n=1000, gap=gap, above=0, below=0, updates=most + 5)
        session = OnlineSession(Histogram(domain, x), settings, queries=500, relation=Replace)

        def entropy(session=session, x=x):
            h = session.distribution.weights / session.distribution.mass
            return float(np.sum(np.where(x > 0, x / 1000 * np.log(np.maximum(x, 1) / 1000 / h), 0)))

        before, updates = entropy(), 0
        for _ in range(60):
            table = rng.integers(0, 2, 16) if rng.random() < 0.7 else rng.integers(-2, 3, 16)
            query = Junta(domain, ("row",), table)
            if rng.random() < 0.3:
                low = int(rng.integers(0, 16))
                query = Box(domain, ("row",), (low,), (int(rng.integers(low, 16)),))
            if span(query, Replace) == 0:
                continue
            left = session._gate.left
            answer, after = session.ask(query), entropy()

            assert abs(answer - int(query.apply(x)[0])) <= session.alpha * span(query, Replace)
            assert session.distribution.potential >= after - 1e-9  # what is known is no better than what is true
            if session._gate.left < left:
                assert before - after >= 2 * settings.step**2 - 1e-12
                updates += 1
            before = after

        assert updates <= most


@pytest.mark.usefixtures("_no_noise")
def test_a_box_is_moved_exactly_and_more_is_gained_than_by_the_textbook_step():
    domain = Domain({"row": Integer(0, 9)})
    box, junta = Box(domain, ("row",), (0,), (0,)), Junta(domain, ("row",), np.eye(1, 10, dtype=np.int64)[0])
    exactly, roughly = Distribution(np.zeros(10)), Distribution(np.zeros(10))
    exactly.move(box, 1, 0.3)
    roughly.move(junta, 1, 0.3)

    assert exactly.mean(box) == pytest.approx(0.4)
    assert exactly.potential < roughly.potential <= math.log(10) - 2 * 0.3**2


def adversary(session, data, workload, questions):
    """Always ask where the public histogram is worst; return the errors of all answers."""
    true = workload.answer(data).astype(float)
    rows = list(workload)
    errors = []
    for _ in range(questions):
        model = workload.answer(session.histogram)
        worst = int(np.argmax(abs(true - model)))
        errors.append(abs(session.ask(rows[worst]) - true[worst]))
    return errors


@pytest.mark.statistical
@pytest.mark.parametrize("budget", [ApproxDP(1.0, 1e-6), PureDP(1.0), ZCDP(0.1, neighbours=AddRemove)], ids=repr)
def test_all_answers_are_within_alpha_even_of_an_adversary(budget):
    runs, beta = counts(quick=12, full=1000), 0.2
    domain = Domain({f"b{i}": Boolean() for i in range(4)})
    workload = marginals(domain, 2)
    data = Histogram(
        domain, np.random.default_rng(1).multinomial(20_000, np.random.default_rng(2).dirichlet([0.1] * 16))
    )
    pmw = PrivateMultiplicativeWeights(domain, n=20_000, budget=budget, queries=40, beta=beta)
    failed = updates = 0
    for seed in range(runs):
        session = pmw.open(data, rng=SeededRandom(seed))
        errors = adversary(session, data, workload, 40)
        failed += max(errors) > session.alpha
        updates += session.updates

    assert binom.sf(failed - 1, runs, beta) > 1e-6
    assert updates >= runs  # the data was asked at all


@pytest.mark.statistical
@pytest.mark.parametrize("n", [50_000, None], ids=["public", "private"])
def test_passes_leave_a_histogram_that_answers_everything(n):
    runs, beta = counts(quick=6, full=1000), 0.2
    domain = Domain({f"b{i}": Boolean() for i in range(5)})
    data, workload = Histogram.random(domain, n=50_000, seed=3), marginals(domain, 2)
    pmw = PrivateMultiplicativeWeights(domain, n=n, budget=ApproxDP(1.0, 1e-6), queries=1, beta=beta)
    offline, true = pmw.release(workload), workload.answer(data)
    failed = 0
    for seed in range(runs):
        release = offline(data, rng=SeededRandom(seed))
        failed += abs(release.answers - true).max() > release.accuracy(beta)

        assert release.histogram.n == pytest.approx(50_000, rel=1e-9 if n else 0.01)
        assert np.allclose(release.answers, workload.answer(release.histogram))

    assert binom.sf(failed - 1, runs, beta) > 1e-6


def test_a_guess_of_the_number_of_rows_proves_nothing_before_it_is_measured():
    """The error grows with the rows, and a guess of a hundred of them would promise far less of 50 000."""
    data, budget = Histogram(QUAD, np.array([[50_000, 0], [0, 0]])), ApproxDP(1.0, 1e-6, neighbours=AddRemove)
    pmw = PrivateMultiplicativeWeights(QUAD, n=100, budget=budget, queries=4)
    for mechanism in (pmw, pmw.release(marginals(QUAD, 2))):
        with pytest.raises(UnsupportedError, match="number of rows, which is private"):
            mechanism.accuracy()

    assert pmw.open(data, rng=SeededRandom(1)).alpha > pmw.settings().alpha
    assert pmw.release(marginals(QUAD, 2))(data, rng=SeededRandom(1)).accuracy() > 0


@pytest.mark.usefixtures("_no_noise")
@pytest.mark.parametrize("chunk", [7, 1 << 16])
def test_passes_without_noise_end_within_the_gap_on_all_queries(chunk, monkeypatch):
    monkeypatch.setattr(online_passes, "CHUNK", chunk)
    domain = Domain({f"b{i}": Boolean() for i in range(5)})
    data, workload = Histogram.random(domain, n=50_000, seed=3), marginals(domain, 3)
    offline = OfflineWeights(workload, n=50_000, budget=ApproxDP(1.0, 1e-6))
    release = offline(data)

    assert abs(release.answers - workload.answer(data)).max() <= offline.settings().threshold + 1


def test_the_gate_says_the_same_of_one_and_of_many():
    settings, runs = tiny(updates=10**6, epsilon=Fraction(1, 5), first=Fraction(1, 20), gap=30, above=20), 3000
    differences, spans = np.array([10, -45, 40, 60]), np.array([1, 1, 2, 1])
    one, many = Gate(settings, rng=SeededRandom(1)), Gate(settings, rng=SeededRandom(2))

    def singly():
        for place, (difference, wide) in enumerate(zip(differences, spans, strict=True)):
            found = one.test(int(difference), int(wide))
            if found is not None:
                return place, found[0]
        return None

    def together():
        found = many.first(differences, spans)
        return None if found is None else found[:2]

    seen = [[draw() for _ in range(runs)] for draw in (singly, together)]
    kinds = [kind for kind in dict.fromkeys(seen[0]) if seen[0].count(kind) >= 10]
    table = np.array([[sample.count(kind) for kind in kinds] for sample in seen])
    assert chi2_contingency(table).pvalue > 1e-6
    assert one.left < 10**6


def test_after_the_last_update_the_data_is_not_touched():
    domain = Domain({f"b{i}": Boolean() for i in range(4)})
    pmw = PrivateMultiplicativeWeights(domain, n=10_000, budget=PureDP(1.0), queries=50)
    session = pmw.open(Histogram.random(domain, n=10_000, seed=1))
    session._gate.left = 0
    session._true = None
    query = marginals(domain, 2)[3]

    assert session.ask(query) == round(session.estimate(query))
    assert session.updates_left == 0


def test_a_session_ends_with_its_declared_questions_and_says_so():
    pmw = PrivateMultiplicativeWeights(BIT, n=1000, budget=PureDP(1.0), queries=2)
    session = pmw.open(Histogram(BIT, [300, 700]))
    session.ask(ONES)
    session.ask(ZEROS)

    assert session.queries_left == 0
    with pytest.raises(BudgetExhausted, match="remaining 0 of 2 questions"):
        session.ask(ONES)
    assert 0 <= session.estimate(ONES) <= 1000


def test_a_session_on_torch_answers_as_on_numpy():
    torch = pytest.importorskip("torch")
    domain = Domain({f"b{i}": Boolean() for i in range(6)})
    data, workload = Histogram.random(domain, n=50_000, seed=1), marginals(domain, 2)
    pmw = PrivateMultiplicativeWeights(domain, n=50_000, budget=ApproxDP(1.0, 1e-6), queries=60)
    here = pmw.open(data, rng=SeededRandom(1))
    there = pmw.open(Histogram(domain, torch.as_tensor(data.counts)), rng=SeededRandom(1))

    assert np.allclose([here.ask(query) for query in workload], [there.ask(query) for query in workload], atol=2)
    assert here.updates_left == there.updates_left


def test_a_suspended_session_goes_on_and_gives_up_one_update(tmp_path):
    domain = Domain({f"b{i}": Boolean() for i in range(4)})
    data, questions = Histogram.random(domain, n=50_000, seed=1), list(marginals(domain, 2))
    pmw = PrivateMultiplicativeWeights(domain, n=50_000, budget=ApproxDP(1.0, 1e-6), queries=24)
    session = pmw.open(data, rng=SeededRandom(1))
    for question in questions[:10]:
        session.ask(question)
    before, left = session.histogram.counts, session._gate.left
    session.suspend().save(tmp_path / "session.npz")
    after = Suspended.load(tmp_path / "session.npz")
    again = pmw.resume(data, after, rng=SeededRandom(2))

    assert np.allclose(again.histogram.counts, before)
    assert (again.queries_left, again._gate.left) == (14, left - 1)
    assert again.distribution.potential == session.distribution.potential
    assert abs(again.ask(questions[10]) - questions[10].answer(data)[0]) <= again.alpha
    with pytest.raises(BudgetExhausted):
        session.ask(questions[0])


QUAD = Domain({"a": Boolean(), "b": Boolean()})
PAID = {"n": 50_000, "budget": ApproxDP(1.0, 1e-6), "queries": 200}


@pytest.mark.parametrize(
    "changes",
    [
        {"budget": ApproxDP(8.0, 1e-6)}, {"budget": ApproxDP(1.0, 1e-5)}, {"budget": ZCDP(1)}, {"queries": 201},
        {"queries": 5}, {"beta": 0.1}, {"suspensions": 1}, {"budget": ApproxDP(1.0, 1e-6, neighbours=AddRemove)},
    ],
    ids=repr,
)  # fmt: skip
def test_a_session_goes_on_under_the_terms_it_was_paid_under_only(changes):
    """Resumed under a larger budget it would be answered with less noise than was paid for."""
    data = Histogram(QUAD, np.array([[20_000, 10_000], [15_000, 5_000]]))
    pmw = PrivateMultiplicativeWeights(QUAD, **PAID)
    after = pmw.open(data, rng=SeededRandom(1)).suspend()
    with pytest.raises(ParameterError, match="suspended under these parameters"):
        PrivateMultiplicativeWeights(QUAD, **PAID | changes).resume(data, after)

    assert pmw.resume(data, after).queries_left == 200  # a refusal does not use it up


def test_a_session_goes_on_on_the_same_domain_and_number_of_rows():
    data = Histogram(QUAD, np.array([[20_000, 10_000], [15_000, 5_000]]))
    after = PrivateMultiplicativeWeights(QUAD, **PAID).open(data, rng=SeededRandom(1)).suspend()
    other = Domain({"a": Boolean(), "c": Boolean()})
    with pytest.raises(ParameterError, match="suspended under these parameters"):
        PrivateMultiplicativeWeights(other, **PAID).resume(Histogram(other, data.counts), after)
    with pytest.raises(DomainError, match="n=50000"):
        PrivateMultiplicativeWeights(QUAD, **PAID).resume(Histogram(QUAD, data.counts + 1), after)


def test_a_suspended_session_is_gone_on_with_once(tmp_path):
    data = Histogram(QUAD, np.array([[20_000, 10_000], [15_000, 5_000]]))
    pmw, path = PrivateMultiplicativeWeights(QUAD, **PAID), tmp_path / "session.npz"
    kept, saved = (pmw.open(data, rng=SeededRandom(seed)).suspend() for seed in (1, 2))
    pmw.resume(data, kept)
    saved.save(path)
    for used in (kept, saved):
        with pytest.raises(UnsupportedError, match="resumed or saved already"):
            pmw.resume(data, used)
        with pytest.raises(UnsupportedError, match="resumed or saved already"):
            used.save(tmp_path / "another.npz")
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(UnsupportedError, match="cannot be copied or pickled"):
            duplicate(kept)
    before = saved.weights
    loaded = Suspended.load(path)
    with pytest.raises(LedgerError, match="in the way"):
        Suspended.load(path)
    path.with_name("session.npz.resumed").unlink()
    with pytest.raises(LedgerError, match="may have been resumed already"):
        Suspended.load(path)

    assert np.array_equal(loaded.weights, before)
    assert (loaded.settings, loaded.terms) == (saved.settings, pmw.terms())
    assert pmw.resume(data, loaded).queries_left == 200


def test_threads_cannot_resume_one_session_twice():
    data = Histogram(QUAD, np.array([[20_000, 10_000], [15_000, 5_000]]))
    pmw = PrivateMultiplicativeWeights(QUAD, **PAID)
    after = pmw.open(data, rng=SeededRandom(1)).suspend()

    def resumed(_):
        try:
            pmw.resume(data, after)
        except UnsupportedError:
            return 0
        return 1

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(resumed, range(8))) == 1


def test_no_file_is_written_over_and_a_failed_save_uses_nothing_up(tmp_path):
    data = Histogram(QUAD, np.array([[20_000, 10_000], [15_000, 5_000]]))
    pmw = PrivateMultiplicativeWeights(QUAD, **PAID)
    after = pmw.open(data, rng=SeededRandom(1)).suspend()
    (tmp_path / "here.npz").write_bytes(b"mine")
    with pytest.raises(LedgerError, match="never written over"):
        after.save(tmp_path / "here.npz")
    with pytest.raises(FileNotFoundError):
        after.save(tmp_path / "nowhere" / "here.npz")

    assert (tmp_path / "here.npz").read_bytes() == b"mine"
    assert pmw.resume(data, after).queries_left == 200


def suspended_often(pmw, data, times):
    session = pmw.open(data, rng=SeededRandom(1))
    for seed in range(times):
        session = pmw.resume(data, session.suspend(), rng=SeededRandom(2 + seed))
    return session


@pytest.mark.parametrize("budget", [ApproxDP(1.0, 1e-6), ApproxDP(1.0, 1e-6, neighbours=AddRemove)], ids=["n", "no n"])
def test_updates_given_up_by_suspending_are_counted_in_the_error(budget):
    """All rows in one cell: with no update left the uniform histogram is off by three quarters of them."""
    data = Histogram(QUAD, np.array([[100_000, 0], [0, 0]]))
    pmw = PrivateMultiplicativeWeights(QUAD, n=100_000, budget=budget, queries=100)
    question = Box(QUAD, ("a", "b"), (0, 0), (0, 0))
    session = suspended_often(pmw, data, pmw.settings().updates + 200)
    off = abs(session.ask(question) - 100_000)

    assert session.updates_left == 0
    assert session.settings.alpha < off  # what was promised before is broken
    assert off <= session.alpha


def test_the_error_grows_with_suspensions_and_not_before():
    data = Histogram(QUAD, np.array([[100_000, 0], [0, 0]]))
    pmw = PrivateMultiplicativeWeights(QUAD, n=100_000, budget=ApproxDP(1.0, 1e-6), queries=100)
    alphas = [suspended_often(pmw, data, times).alpha for times in (0, 1, 10, 60, 200)]

    assert alphas[0] == pmw.accuracy()
    assert alphas == sorted(alphas)
    assert alphas[-1] > 2 * alphas[0]


@pytest.mark.parametrize("budget", [ApproxDP(1.0, 1e-6), ZCDP(0.1), PureDP(1)], ids=repr)
def test_declared_suspensions_keep_the_error_within_the_budget(budget):
    data = Histogram(QUAD, np.array([[100_000, 0], [0, 0]]))
    pmw = PrivateMultiplicativeWeights(QUAD, n=100_000, budget=budget, queries=100, suspensions=5)
    plain = PrivateMultiplicativeWeights(QUAD, n=100_000, budget=budget, queries=100)
    session = suspended_often(pmw, data, 5)
    settings, spent = session.settings, pmw.settings().event()
    certain = 2 * settings.step**2

    assert plain.accuracy() <= session.alpha == pmw.accuracy()
    assert math.log(4) < (settings.updates - 5 + 1) * certain  # what is left brings the potential below one update
    assert settings.fresh
    assert getattr(spent, "count", 1) == settings.updates
    assert abs(session.ask(Box(QUAD, ("a", "b"), (0, 0), (0, 0))) - 100_000) <= session.alpha


def test_one_secret_threshold_cannot_be_put_aside(tmp_path):
    pmw = PrivateMultiplicativeWeights(BIT, n=100_000, budget=PureDP(1.0), queries=2)
    session = pmw.open(Histogram(BIT, [50_000, 50_000]))
    with pytest.raises(UnsupportedError, match="share one secret threshold"):
        session.suspend()
    (tmp_path / "other").write_bytes(b"other")
    with pytest.raises(ParameterError, match="written by Suspended"):
        Suspended.load(tmp_path / "other")


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_session_cannot_be_duplicated(duplicate):
    session = PrivateMultiplicativeWeights(BIT, n=2, budget=PureDP(1.0), queries=2).open(Histogram(BIT, [1, 1]))
    with pytest.raises(UnsupportedError, match="cannot be copied or pickled"):
        duplicate(session)


def test_a_session_refuses_to_answer_in_a_forked_process(monkeypatch):
    session = PrivateMultiplicativeWeights(BIT, n=2, budget=PureDP(1.0), queries=2).open(Histogram(BIT, [1, 1]))
    monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(UnsupportedError, match="forked"):
        session.ask(ONES)


def test_threads_cannot_ask_more_than_was_declared():
    session = PrivateMultiplicativeWeights(BIT, n=2, budget=PureDP(1.0), queries=30).open(Histogram(BIT, [1, 1]))

    def greedy(_):
        answered = 0
        for _ in range(20):
            try:
                session.ask(ONES)
                answered += 1
            except BudgetExhausted:
                break
        return answered

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(greedy, range(4))) == 30


def test_spans_cover_both_what_moves_and_what_differs():
    domain = Domain({"row": Integer(0, 2)})
    parity, shifted = (Junta(domain, ("row",), np.array(table)) for table in ([-1, 1, 1], [2, 3, 3]))
    everyone = Box(domain, ("row",), (0,), (2,))

    assert span(parity, Replace) == span(parity, AddRemove) == 2
    assert (span(shifted, Replace), span(shifted, AddRemove)) == (1, 3)
    assert (span(everyone, Replace), span(everyone, AddRemove)) == (0, 1)
    with pytest.raises(UnsupportedError, match="nearly one constant"):
        span(Junta(domain, ("row",), np.array([1000, 1001, 1000])), Replace)
    with pytest.raises(UnsupportedError, match="integer values"):
        span(Junta(domain, ("row",), np.array([0.5, 0, 0])), Replace)


def test_a_constant_costs_nothing_where_n_is_public():
    session = PrivateMultiplicativeWeights(BIT, n=10, budget=PureDP(1.0), queries=2).open(Histogram(BIT, [4, 6]))

    assert session.ask(Box(BIT, ("bit",), (0,), (1,))) == 10


@pytest.mark.parametrize(
    "parameters",
    [
        {"queries": 0}, {"queries": 1.0}, {"queries": True}, {"beta": 0}, {"beta": 1}, {"beta": float("nan")}, {"n": 0},
        {"n": 1.5}, {"budget": PureDP(0)}, {"budget": ZCDP(0)}, {"budget": ApproxDP(0, 0.1)},
        {"n": None, "budget": PureDP(1, neighbours=Replace)}, {"suspensions": -1}, {"suspensions": True},
        {"suspensions": 1.0}, {"suspensions": 10**6},
    ],
)  # fmt: skip
def test_rejects_bad_parameters(parameters):
    with pytest.raises(ParameterError):
        PrivateMultiplicativeWeights(BIT, **{"n": 100, "budget": PureDP(1), "queries": 10} | parameters)


def test_refuses_what_no_theorem_covers():
    with pytest.raises(UnsupportedError, match="PureDP, ApproxDP or ZCDP"):
        PrivateMultiplicativeWeights(BIT, n=10, budget=GaussianDP(1), queries=10)
    pmw = PrivateMultiplicativeWeights(BIT, n=10, budget=PureDP(1), queries=10)
    with pytest.raises(DomainError, match="n=10"):
        pmw.open(Histogram(BIT, [4, 4]))
    with pytest.raises(DomainError, match="different domains"):
        pmw.open(Histogram(Domain({"other": Boolean()}), [4, 6]))
    with pytest.raises(ParameterError, match="one query"):
        pmw.open(Histogram(BIT, [4, 6])).ask(marginals(BIT, 1))
    with pytest.raises(UnsupportedError, match="smaller"):
        pmw.accuracy(0.01)


def test_a_threshold_times_a_span_beyond_64_bits_does_not_wrap():
    """A margin of -2^63 - 1 was one of 2^63 - 1: every question passed."""
    settings = Settings(
        updates=3, gap=1, above=1 << 40, below=1, off=0, n=10, fresh=True, epsilon=Fraction(2), first=Fraction(1)
    )
    spans = np.full(50, (1 << 31) - 1)

    for place in range(30):
        gate = Gate(settings, rng=SeededRandom(place))
        gate._level = (1 << 62) + (place << 58)
        assert gate.first(np.zeros(50, dtype=np.int64), spans) is None
        found = gate.first(np.full(50, -(1 << 62), dtype=np.int64), spans // spans)
        assert found is None or found[1] == -1
