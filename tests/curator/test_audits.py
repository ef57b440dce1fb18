"""discreet.curator.audits: nothing public is left out, claims hold, twins are caught, and the command says so."""

from __future__ import annotations

import csv
import importlib
import inspect
import io
import itertools
import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.attacks.audit import releases
from discreet.attacks.replay import Hook, replay
from discreet.cli import app
from discreet.curator.audits import run
from discreet.curator.audits.case import Case, Seen, Subject
from discreet.curator.audits.own import audit_own, read_inputs
from discreet.curator.audits.picture import save
from discreet.curator.audits.played_back import paid, replayed
from discreet.curator.audits.register import ROOMS, SUBJECTS, named, public_names
from discreet.curator.audits.run import EPSILON, FALSE_ALARMS, audit_all, audit_subject, risk
from discreet.curator.audits.table import as_csv, as_json, markdown, summary, text
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.local import Devices, HeavyHitters, Shuffler
from discreet.mechanisms import Laplace, SparseVector, Thresholded
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.structured.medians import median_window
from discreet.synthesis import linked as linked_tables
from tests.scale import FULL, counts

BETA = risk(SUBJECTS)
runner = CliRunner()


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_mechanism_is_in_the_register(room):
    audited = set().union(*(subject.names for subject in SUBJECTS if subject.room == room))

    assert public_names(room) - audited == set()


def test_a_mechanism_that_is_left_out_would_be_seen(monkeypatch):
    class Forgotten:
        def __call__(self, value, *, rng=None):
            return value

        def privacy(self):
            return PureDP(1)

    module = importlib.import_module("discreet.mechanisms")
    monkeypatch.setattr(module, "Forgotten", Forgotten, raising=False)

    assert "Forgotten" in public_names("mechanisms")


def test_every_public_name_of_the_register_is_public():
    for subject in SUBJECTS:
        assert subject.names <= set(dir(importlib.import_module(f"discreet.{subject.room}"))), subject.known_as


def test_functions_and_noise_are_public_names_too():
    assert {"cross_validate", "cross_val_score", "accuracy_curve", "best_of_panel"} <= public_names("learning")
    assert {"CauchyNoise", "LomaxNoise", "PowerNoise", "LaplaceNoise", "GaussianNoise"} <= public_names("mechanisms")
    assert "boosted_parities" in public_names("structured")
    assert "quality" not in public_names("synthesis")


IDLE = {
    "TrianglePlan",  # reads no data
    "PrivateGradients",  # parameters; what it runs is NoisySums
    "cross_val_score", "accuracy_curve",  # return what `cross_validate` found: the next test
}  # fmt: skip
QUIET = {"__init__", "__post_init__", "privacy", "event", "__repr__", "__eq__", "__hash__"}


def codes(name, item):
    """The code of everything that a public name can do."""
    if inspect.isfunction(item):
        return {item.__code__: name}
    found = {}
    for kind in item.__mro__[:-1]:
        for each, part in vars(kind).items():
            function = getattr(part, "__func__", part)
            if inspect.isfunction(function) and each not in QUIET:
                found[function.__code__] = name
    return found


@pytest.mark.parametrize("subject", [s for s in SUBJECTS if s.covers or s.room == "local"], ids=lambda s: s.known_as)
def test_every_name_that_a_subject_audits_does_something_in_its_cases(subject):
    """The twins: a shuffler, a device and heavy hitters that were in the register, and never ran."""
    module = importlib.import_module(f"discreet.{subject.room}")
    items = {name: getattr(module, name) for name in subject.names}
    cases, ran = list(subject.cases(EPSILON)), set()

    def watch(frame, event, _argument):
        me = frame.f_locals.get("self")
        for name, item in items.items():
            if event == "call" and frame.f_code in own[name] and (me is None or isinstance(me, item)):
                ran.add(name)

    own = {name: codes(name, item) for name, item in items.items()}
    sys.setprofile(watch)
    try:
        for case in cases:
            many = getattr(case.mechanism, "releases", None)
            many(case.inputs[0], 2, rng=SeededRandom(1)) if many else case.mechanism(
                case.inputs[0], rng=SeededRandom(1)
            )
    finally:
        sys.setprofile(None)

    assert set(items) - ran <= IDLE


def test_scores_and_curves_are_those_of_cross_validation():
    learning = importlib.import_module("discreet.learning")
    private = inspect.getsource(importlib.import_module(learning.accuracy_curve.__module__)._private)

    assert "cross_validate(model, X, y" in inspect.getsource(learning.cross_val_score)
    assert "cross_validate(" in private


def mutated(name, **settings):
    (subject,) = named(name)
    return audit_subject(subject, beta=BETA, twins=False, rng=SeededRandom(3), **settings)


@pytest.mark.parametrize("less", [1, 3])
def test_names_released_from_below_the_threshold_are_seen(monkeypatch, less):
    honest = Thresholded.cut.fget
    monkeypatch.setattr(Thresholded, "cut", property(lambda self: honest(self) - less))

    assert mutated("mechanisms.Thresholded", samples=200).violated


def test_a_median_that_is_always_called_stable_is_seen(monkeypatch):
    monkeypatch.setattr(median_window.Window, "distance", lambda self, bound: 10**6)

    assert mutated("structured.StableMedian", samples=500).violated


def raw_strings(_self, strings, *, rng=None):
    return np.asarray(strings)


def in_order(self, *, rng=None):
    return np.concatenate(self._waiting)


@pytest.mark.parametrize(
    ("name", "kind", "method", "mutant"),
    [
        ("local.HeavyHitters", HeavyHitters, "__call__", raw_strings),
        ("local.Shuffler", Shuffler, "release", in_order),
    ],
)
def test_what_the_local_model_forgets_is_seen(monkeypatch, name, kind, method, mutant):
    """Strings handed over as they are, and reports in the order in which they came."""
    monkeypatch.setattr(kind, method, mutant)

    assert mutated(name, samples=1500).violated


def test_a_device_without_a_memory_is_seen(monkeypatch):
    """Every report is drawn from the value anew: two for the price of one."""

    def begin(self, values):
        self._permanent = self.protocol.checked(values)

    def report(self):
        return self.protocol.protocol.draw(self._permanent, self._random)

    monkeypatch.setattr(Devices, "begin", begin)
    monkeypatch.setattr(Devices, "report", report)

    assert mutated("local.Memoised", samples=20_000).violated


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.known_as)
def test_every_case_releases_on_both_sides_and_so_does_its_twin(subject):
    cases = list(subject.cases(EPSILON))
    twins = cases if subject.twin is None else list(subject.cases(subject.twin * EPSILON))

    assert len(cases) == len(twins) >= 1
    for case in cases[:3]:
        assert case.claimed() >= 0
        for value in case.inputs:
            case.mechanism(value, rng=SeededRandom(1))
    assert subject.twin is None or all(
        twin.claimed() > case.claimed() for case, twin in zip(cases, twins, strict=True)
    )  # a twin that is honest shows nothing


TABLED = [
    pytest.param(case, id=f"{subject.known_as}-{place}")
    for subject in SUBJECTS
    for place, case in enumerate(subject.cases(EPSILON))
    if case.table is not None
]


@pytest.mark.parametrize("case", TABLED)
def test_what_is_finite_is_enumerated_and_keeps_its_claim(case):
    assert case.table().epsilon_at(case.delta) <= case.claimed() * (1 + 1e-9) + 1e-9


class Unpriced:
    """Releases, and does not say what ran."""

    def __call__(self, value, *, rng=None):
        return 0

    def __eq__(self, other):
        return isinstance(other, Unpriced)

    def __hash__(self):
        return 0


REPLAYED = [subject for subject in SUBJECTS if subject.replays]


@pytest.mark.parametrize("subject", REPLAYED, ids=lambda subject: subject.known_as)
def test_what_is_played_back_on_a_neighbour_moves_no_more_than_is_declared_or_paid(subject):
    moved, wrong = replayed(subject, list(subject.cases(EPSILON)))

    assert not wrong
    assert moved <= 1 + 1e-9


CHEAP = {PureDP: PureDP(0.001), ZCDP: ZCDP(1e-6)}


@pytest.mark.parametrize("subject", REPLAYED, ids=lambda subject: subject.known_as)
def test_what_is_sold_for_next_to_nothing_is_seen_by_playing_back(subject):
    """Every one that reads anything, at its own noise: also those paid for as a whole, and those with a delta."""

    def sold(case):
        claim = case.mechanism.privacy()
        cheap = CHEAP.get(type(claim)) or ApproxDP(0.001, claim.delta)
        return replace(case, mechanism=Seen(lambda value, rng: case.mechanism(value, rng=rng), cheap))

    moved, wrong = replayed(subject, [sold(case) for case in subject.cases(EPSILON)])

    assert wrong
    assert moved is not None


def test_a_unit_with_two_rows_paid_for_as_one_is_seen_by_playing_back(monkeypatch):
    """The twin of linked tables: rows are bounded as declared, and the noise is that of a unit with one."""
    (subject,) = named("LinkedSynthesizer")
    honest = linked_tables.Synthesizer
    monkeypatch.setattr(
        linked_tables, "Synthesizer", lambda *args, **more: honest(*args, **(more | {"rows_per_unit": 1}))
    )

    assert replayed(subject, list(subject.cases(EPSILON)))[1]


def test_moving_twice_as_far_as_declared_costs_twice_as_much():
    found = replay(Laplace(epsilon=1, sensitivity=1), (0, 2), group=2)

    assert found.violations == ()
    assert (paid(found).epsilon, paid(found).rho) == (2, 2)


def test_nothing_is_called_replayed_where_no_price_is_known():
    hook = Hook(owner=Unpriced, distance=lambda _self, a, b: abs(a - b), event=None)
    found = replay(Unpriced(), (0, 1), hooks=[hook])

    assert found.parts == (1,)
    assert paid(found) is None


@pytest.mark.parametrize(("inputs", "claim"), [((0, 1), 1), ((0, 2), 1), ((0, 1), 0.9)])
def test_a_sensitivity_or_a_price_that_is_too_small_is_seen_by_playing_back(inputs, claim):
    noisy = Laplace(epsilon=1, sensitivity=1)
    case = Case(Seen(lambda value, rng: noisy(value, rng=rng), PureDP(claim)), inputs, slow=True)
    subject = Subject(name="Played", room="nowhere", cases=lambda _: iter([case]), twin=None, replays=1)

    assert bool(replayed(subject, [case])[1]) == ((inputs, claim) != ((0, 1), 1))
    found = audit_subject(subject, beta=BETA, samples=100, rng=SeededRandom(1))
    assert found.violated == bool(found.violations)  # what is false is said


def test_five_sessions_sold_for_one_are_seen_by_playing_back():
    sparse = SparseVector(epsilon=1, sensitivity=1, threshold=0, count=1)

    def sold(count):
        def look(value, rng):
            return [sparse.open(rng=rng).ask(value) for _ in range(count)]

        return Case(Seen(look, sparse.privacy()), (0, 1), slow=True)

    subject = Subject(name="Sold", room="nowhere", cases=lambda _: iter([sold(1)]), twin=None, replays=1)

    assert replayed(subject, [sold(1)]) == (1.0, ())
    assert "costs epsilon 5" in replayed(subject, [sold(5)])[1][0]


def test_all_audits_together_alarm_at_most_once_in_a_thousand():
    """Each sampled audit alarms with probability beta at most, whatever its outputs are."""
    sampled = sum(len(list(subject.cases(EPSILON))) for subject in SUBJECTS)

    assert sampled > 150
    assert BETA * sampled == pytest.approx(FALSE_ALARMS)


QUICK = ["mechanisms.Laplace", "mechanisms.Gaussian", "local.OneBitMean", "structured.GridQuantile"]


@pytest.mark.statistical
@pytest.mark.parametrize("name", QUICK)
def test_a_claim_holds_and_its_twin_is_caught(name):
    (subject,) = named(name)
    tries = counts(quick=3, full=100)
    found = [audit_subject(subject, beta=BETA, rng=SeededRandom(seed)) for seed in range(tries)]

    assert not any(one.violated for one in found)
    assert sum(one.twin_bound > one.claimed for one in found) >= 0.99 * tries
    assert all(one.power >= 0.99 for one in found)


class Pool:
    """Releases that were drawn once, handed out anew: a whole audit of them costs no draws."""

    def __init__(self, sides, claim, seed):
        self.sides, self.claim, self.rng = sides, claim, np.random.default_rng(seed)

    def releases(self, value, count, *, rng=None):
        places = self.rng.choice(len(self.sides[value]), count, replace=False)
        side = self.sides[value]
        return side[places] if isinstance(side, np.ndarray) else [side[place] for place in places]

    def privacy(self):
        return self.claim


def caught(subject, tries, pools=4):
    """How often the twin is caught when whole audits are drawn anew, its event chosen anew each time."""
    cases, twins = list(subject.cases(EPSILON)), list(subject.cases(subject.twin * EPSILON))
    size = [subject.slow if case.slow else subject.samples for case in cases]
    worst = 0
    if len(cases) > 1:
        inputs = audit_subject(subject, beta=BETA, twins=False, rng=SeededRandom(1)).inputs
        worst = next(i for i, case in enumerate(cases) if run._short(case.inputs) == inputs)
    honest, twin, n = cases[worst], twins[worst], size[worst]
    sides = [releases(twin.mechanism, value, pools * n, batched=None, rng=SeededRandom(9)) for value in twin.inputs]
    made = [Pool(sides, twin.mechanism.privacy(), seed) for seed in range(tries)]
    audits = (replace(twin, mechanism=pool, inputs=(0, 1), delta=honest.delta) for pool in made)
    return sum(run._bound(run._audited(one, n, beta=BETA, rng=None)) > honest.claimed() for one in audits) / tries


TWINS = [s for s in SUBJECTS if s.twin is not None and (FULL or s.known_as in QUICK)]


@pytest.mark.statistical
@pytest.mark.parametrize("subject", TWINS, ids=lambda subject: subject.known_as)
def test_every_twin_is_caught_by_99_of_100_whole_audits(subject):
    """Events are chosen anew: what `power` of a finding does not redraw."""
    assert caught(subject, counts(quick=3, full=100)) >= 0.99


def lying(epsilon):
    """Laplace noise for twice the epsilon that it claims."""

    class Lying:
        def releases(self, value, count, *, rng=None):
            return Laplace(epsilon=2 * epsilon, sensitivity=1)(np.full(count, value), rng=rng)

        def privacy(self):
            return PureDP(epsilon)

    yield Case(Lying(), (0, 1))


def test_a_quick_look_leaves_out_twins_that_are_drawn_one_by_one():
    (subject,) = named("EdgeCount")
    quick, asked = (audit_subject(subject, beta=BETA, rng=SeededRandom(1), **more) for more in (
        {"scale": 0.01}, {"samples": 200}))  # fmt: skip

    assert quick.samples == run.FEWEST
    assert quick.power is None
    assert asked.power is not None


def test_a_false_claim_is_called_violated():
    found = audit_subject(
        Subject(name="Lying", room="nowhere", cases=lying, twin=2, samples=5000), beta=BETA, rng=SeededRandom(1)
    )

    assert found.violated
    assert found.bound > 1
    assert found.verdict == "VIOLATED"


def test_a_false_law_is_called_violated_however_little_is_drawn():
    """Enumeration sees one part in a million."""

    def cases(epsilon):
        honest = Laplace(epsilon=epsilon, sensitivity=1)
        from discreet.curator.audits.tables import laplace_pair

        table = lambda: laplace_pair(Laplace(epsilon=epsilon * (1 + 1e-6), sensitivity=1), (0, 1))  # noqa: E731
        yield Case(honest, (0, 1), table=table)

    found = audit_subject(Subject(name="Nearly", room="nowhere", cases=cases, twin=None, samples=200), beta=BETA)

    assert found.violated


def test_the_same_seed_finds_the_same_on_one_process_and_on_two():
    subjects = [*named("Laplace"), *named("Staircase")]
    settings = {"samples": 2000, "seed": 7}
    heard = []
    one, two = (audit_all(subjects, workers=w, done=heard.append, **settings) for w in (1, 2))

    assert [replace(x, seconds=0.0) for x in one] == [replace(x, seconds=0.0) for x in two]
    assert [x.name for x in one] == ["Laplace", "Staircase"]
    assert len(heard) == 4


@pytest.fixture(scope="module")
def findings():
    return audit_all([*named("Laplace"), *named("DeclaredScaler")], samples=1000, workers=1, seed=3)


def test_findings_are_written_as_text_markdown_csv_and_json(findings):
    rows = list(csv.DictReader(io.StringIO(as_csv(findings))))

    assert [row["name"] for row in rows] == ["Laplace", "DeclaredScaler"]
    assert json.loads(as_json(findings))[0]["verdict"] == "holds"
    assert text(findings).splitlines()[1].startswith("mechanisms.Laplace")
    assert markdown(findings).splitlines()[2].startswith("| `mechanisms.Laplace` | 1.000 |")
    assert summary(findings).startswith("2 audited, 0 violated")


def test_the_picture_is_drawn(findings, tmp_path):
    save(findings, tmp_path / "audit.svg")

    assert "<svg" in (tmp_path / "audit.svg").read_text()


def test_the_command_audits_one_name_and_writes_what_it_found(tmp_path):
    file = tmp_path / "found.csv"
    ran = runner.invoke(app, ["audit", "--only", "Laplace", "--samples", "2000", "--seed", "1", "--csv", str(file)])

    assert ran.exit_code == 0, ran.output
    assert "mechanisms.Laplace" in ran.output
    assert "1 audited, 0 violated" in ran.output
    assert file.read_text().startswith("name,room,")


OWN = """
from fractions import Fraction
from discreet.mechanisms import Laplace
from discreet.privacy import ZCDP, ApproxDP, FiniteMechanism, PureDP

honest = Laplace(epsilon=1, sensitivity=1)

class Lying:
    inputs = (0, 1)
    def __call__(self, value, *, rng=None):
        return Laplace(epsilon=2, sensitivity=1)(value, rng=rng)
    def privacy(self):
        return PureDP(1)

lying = Lying()
coin = FiniteMechanism({0: {0: 0.75, 1: 0.25}, 1: {0: 0.25, 1: 0.75}}, neighbours=[(0, 1)])
biased = FiniteMechanism({0: {0: 0.75, 1: 0.25}, 1: {0: 0.25, 1: 0.75}}, neighbours=[(0, 1)])
biased.claim, coin.claim = PureDP(1), PureDP(1.1)
silent = lambda value, rng=None: value

class Clear:
    inputs = (0, 1)
    def __init__(self, claim): self.claim = claim
    def __call__(self, value, *, rng=None): return value
    def privacy(self): return self.claim

class Nonce(Clear):
    def __call__(self, value, *, rng=None): return f"no. {rng.bits(64)}"

class Broken(Clear):
    def __call__(self, value, *, rng=None): return {}[value]

approx, rho, nonce, broken = Clear(ApproxDP(1, 1e-5)), Clear(ZCDP(0.5)), Nonce(PureDP(1)), Broken(PureDP(1))
certain = FiniteMechanism({0: {0: 1}, 1: {1: 1}}, neighbours=[(0, 1)])
certain.claim = ApproxDP(1, 1e-5)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    name = f"own_{next(itertools.count(id(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_a_mechanism_of_ones_own_is_audited(own):
    honest = runner.invoke(app, ["audit", f"{own}:honest", "--inputs", "0,1", "--samples", "20000", "--seed", "1"])
    lying = runner.invoke(app, ["audit", f"{own}:lying", "--samples", "4000", "--seed", "1"])

    assert honest.exit_code == 0, honest.output
    assert lying.exit_code == 1
    assert "VIOLATED" in lying.output


def test_a_finite_mechanism_of_ones_own_is_enumerated(own):
    coin, biased = (audit_own(f"{own}:{name}") for name in ("coin", "biased"))

    assert coin.exact == biased.exact == pytest.approx(1.0986, abs=1e-4)
    assert (coin.violated, biased.violated) == (False, True)
    assert audit_own(f"{own}:coin", claim=PureDP(1)).violated


def test_what_cannot_be_audited_is_refused(own):
    with pytest.raises(ParameterError, match="two neighbouring inputs"):
        audit_own(f"{own}:honest")
    with pytest.raises(ParameterError, match="need a claim"):
        audit_own(f"{own}:silent", inputs=(0, 1))
    with pytest.raises(ParameterError, match="cannot find"):
        audit_own(f"{own}:nothing")
    with pytest.raises(ParameterError, match="two inputs"):
        read_inputs("0")
    with pytest.raises(ParameterError, match="something to audit"):
        audit_all([])
    with pytest.raises(ParameterError, match="samples"):
        audit_all(list(named("Laplace")), samples=10)
    with pytest.raises(ParameterError, match="nothing public"):
        run.one("mechanisms.Nothing", {}, None)


@pytest.mark.parametrize("name", ["approx", "rho", "certain"])
def test_a_claim_with_a_delta_is_audited_at_its_own(own, name):
    """They release the value in clear."""
    ran = runner.invoke(app, ["audit", f"{own}:{name}", "--samples", "2000", "--seed", "1"])

    assert ran.exit_code == 1, ran.output
    assert "VIOLATED" in ran.output


def test_a_delta_below_the_claims_own_is_refused_before_anything_is_drawn(own):
    with pytest.raises(ParameterError, match="delta at least"):
        audit_own(f"{own}:approx", delta=0.0, samples=10**12)


@pytest.mark.parametrize(
    "asked",
    [["--only", "Nothing"], ["{own}:honest"], ["{own}:nothing"], ["{own}:broken"], ["{own}:nonce"],
     ["{own}:approx", "--delta", "0"]],
    ids=str,
)  # fmt: skip
def test_what_is_refused_or_fails_has_an_exit_code_of_its_own(own, asked):
    """1 is for a claim that is false, and for nothing else."""
    given = [part.format(own=own) for part in asked]
    ran = runner.invoke(app, ["audit", *given, "--samples", "500", "--seed", "1"])

    assert ran.exit_code == 2
    assert "discreet: " in ran.output


def test_what_cannot_be_read_is_not_said_to_hold(own):
    with pytest.raises(UnsupportedError, match="blind"):
        audit_own(f"{own}:nonce", samples=500, rng=SeededRandom(1))


def test_the_table_of_the_guide_is_written_from_what_the_command_prints(findings, tmp_path):
    """With the day, the machine and the seconds, between the marks of the page."""
    from scripts import audit_table

    file = tmp_path / "found.json"
    file.write_text(as_json(findings), encoding="utf-8")
    told = audit_table.read(file)
    again = [audit_table.finding(row) for row in told["findings"]]
    page = audit_table.PAGE.read_text(encoding="utf-8")
    written = audit_table.written(page, audit_table.about(told, again))

    assert again == findings
    assert written.count("| `mechanisms.Laplace` |") == 1
    assert told["day"] in written
    assert "minutes" in written
    assert written.startswith(page.partition(audit_table.BEGIN)[0])
