"""discreet.attacks.reconstruction, differencing, linkage and the lab."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks import difference, difference_success, linkage, reconstruct, reconstruction_bound, unique
from discreet.attacks.lab import compare_reconstruction
from discreet.attacks.linkage import Ratings
from discreet.attacks.naive import Rounded, Sticky, Suppressed
from discreet.attacks.reconstruction.least_deviations import least_deviations
from discreet.attacks.reconstruction.subsets import all_subsets, hadamard_subsets, random_subsets
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy.guarantee import ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove
from tests.scale import counts

RNG = np.random.default_rng


def secret(n, seed=0):
    return RNG(seed).integers(0, 2, n)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("error", [0.9, 1.5, 2.0])
def test_consistent_tables_are_closer_than_four_times_the_error(seed, error):
    asked, bits = all_subsets(8), secret(8, seed)
    answers = asked @ bits + RNG(seed + 100).uniform(-error, error, len(asked)) * 0.999

    tables = all_subsets(8)
    consistent = tables[(np.abs(tables @ asked.T.astype(int) - answers).max(axis=1) < error)]

    assert (np.abs(consistent - bits).sum(axis=1) < 4 * error).all()
    assert reconstruct(asked, answers, method="exhaustive").wrong(bits) * 8 < 4 * error


def test_four_is_tight_the_middle_tells_nothing():
    asked, bits = all_subsets(8), np.arange(8) % 2
    middle = asked @ (bits + (1 - bits)) / 2

    errors = [np.abs(asked @ table - middle).max() for table in (bits, 1 - bits)]

    assert errors == [2.0, 2.0]  # E = n / 4 and a distance of 8 = 4 E


def test_fourteen_people_by_enumeration():
    asked, bits = all_subsets(14), secret(14)

    assert (
        reconstruct(asked, asked @ bits + RNG(1).uniform(-0.9, 0.9, len(asked)), method="exhaustive").wrong(bits) == 0
    )


@pytest.mark.parametrize(("people", "most"), [(100, 0.02), (200, 0.02), (400, 0.02)])
def test_least_deviations_rebuild_nearly_everybody(people, most):
    asked, bits = random_subsets(people, 4 * people, seed=3), secret(people)
    noisy = asked @ bits + RNG(4).uniform(-0.2, 0.2, 4 * people) * math.sqrt(people)

    assert reconstruct(asked, asked @ bits).wrong(bits) == 0
    assert reconstruct(asked, noisy).wrong(bits) <= most
    assert reconstruct(asked, asked @ (1 - bits)).wrong(bits) == 1  # the twin that answers about others


def test_the_programme_is_solved_as_an_lp_solver_solves_it():
    from scipy.optimize import linprog

    people, questions = 40, 120
    asked, bits = random_subsets(people, questions, seed=5), secret(people)
    answers = asked @ bits + RNG(6).uniform(-4, 4, questions)
    found = least_deviations(asked, answers, gap=1e-4)
    q, eye = asked.astype(float), np.eye(questions)
    exact = linprog(
        np.r_[np.zeros(people), np.ones(questions)],
        A_ub=np.block([[q, -eye], [-q, -eye]]),
        b_ub=np.r_[answers, -answers],
        bounds=[(0, 1)] * people + [(0, None)] * questions,
    ).fun

    assert found.bound <= exact * (1 + 1e-9)
    assert exact <= found.value <= exact * (1 + 2e-4)


def test_random_gross_errors_are_tolerated():
    people = counts(quick=200, full=1000)
    asked, bits = random_subsets(people, 4 * people, seed=7), secret(people)
    answers = (asked @ bits).astype(float)
    gross = RNG(8).random(len(answers)) < 0.2
    answers[gross] = RNG(9).uniform(0, people, gross.sum())

    assert reconstruct(asked, answers).wrong(bits) == 0


@pytest.mark.parametrize(("share", "wrong"), [(0.20, (0, 0)), (0.30, (0.8, 1))])
def test_adversarial_gross_errors_up_to_the_threshold(share, wrong):
    people, questions = 64, 640
    asked, bits = random_subsets(people, questions, seed=10), secret(people)
    answers = (asked @ bits).astype(float)
    lies = asked @ (1 - bits)
    worst = np.argsort(-np.abs(answers - lies))[: int(share * questions)]  # where the complement differs most
    answers[worst] = lies[worst]

    assert wrong[0] <= reconstruct(asked, answers).wrong(bits) <= wrong[1]


@pytest.mark.parametrize(("share", "low", "high"), [(0.01, 0, 0), (0.25, 0.02, 0.07), (0.5, 0.14, 0.24)])
def test_hadamard_questions(share, low, high):
    people, bits = 1024, secret(1024)
    error = share * math.sqrt(people)
    asked = hadamard_subsets(people)
    answers = asked.astype(float) @ bits + RNG(11).uniform(-error, error, people)

    wrong = reconstruct(None, answers, method="hadamard").wrong(bits)

    assert low <= wrong <= high
    assert wrong * people <= 36 * error**2


def test_private_answers_give_away_no_more_than_the_theorem():
    people, trials = 64, counts(quick=40, full=400)
    asked = hadamard_subsets(people)
    right = []
    for trial in range(trials):
        bits = secret(people, trial)
        noisy = Laplace(epsilon=1, sensitivity=people)(asked.astype(int) @ bits, rng=SeededRandom(trial))
        right.append(1 - reconstruct(None, noisy.astype(float), method="hadamard").wrong(bits))

    slack = math.sqrt(math.log(1e6) / (2 * trials))  # Hoeffding, failure probability 1e-6
    assert np.mean(right) <= reconstruction_bound(PureDP(1)) + slack
    assert np.mean(right) < 0.6  # and this attack is far from the best


def test_randomized_response_attains_the_bound():
    bits = secret(counts(quick=20_000, full=200_000))
    reports = RandomizedResponse(epsilon=1)(bits, rng=SeededRandom(1))

    right = float(np.mean(reports == bits))

    assert abs(right - reconstruction_bound(PureDP(1))) < 5 * 0.5 / math.sqrt(len(bits))
    assert reconstruction_bound(PureDP(1)) == pytest.approx(math.e / (1 + math.e), abs=1e-12)
    assert reconstruction_bound(ApproxDP(1, "0.1")) == pytest.approx(0.757953, abs=1e-6)
    assert reconstruction_bound(PureDP(1), missing=0.01) == pytest.approx(0.731059 / 0.99, abs=1e-6)


def test_a_promise_for_rows_added_or_removed_must_be_converted():
    with pytest.raises(ParameterError, match="to_replace"):
        reconstruction_bound(PureDP(1, neighbours=AddRemove))
    assert reconstruction_bound(PureDP(1, neighbours=AddRemove).to_replace()) > 0.88


def test_differencing_names_the_bit_behind_suppression():
    bits = secret(200)
    others = np.arange(200) >= 100
    suppressed = Suppressed(bits, threshold=10)

    assert [difference(suppressed, who, others) for who in range(50)] == bits[:50].tolist()
    assert difference(Suppressed(bits, threshold=150), 0, others) is None
    with pytest.raises(ParameterError):
        difference(suppressed, 150, others)


def test_rounding_and_sticky_noise_fall_to_reconstruction():
    people = 128
    bits, asked = secret(people), random_subsets(people, 8 * people, seed=12)

    assert reconstruct(asked, Rounded(bits, base=3).answer(asked)).wrong(bits) <= 0.01
    assert reconstruct(asked, Sticky(bits, noise=1.5, salt=b"x").answer(asked)).wrong(bits) <= 0.01


def test_sticky_noise_is_the_same_again_and_another_for_another_question():
    bits, asked = secret(50), random_subsets(50, 20, seed=13)
    system = Sticky(bits, noise=3.0, salt=b"x")

    assert (system.answer(asked) == system.answer(asked)).all()
    noise = system.answer(asked) - asked @ bits
    assert len(set(noise.round(6).tolist())) == 20
    assert np.abs(noise).max() <= 3


def test_the_difference_of_two_laplace_answers_succeeds_as_often_as_stated():
    trials = counts(quick=40_000, full=400_000)
    noise = np.random.default_rng(1).laplace(scale=2.0, size=(2, trials))
    right = float(np.mean(1 + noise[0] - noise[1] > 0.5))

    assert abs(right - difference_success(2)) < 5 * 0.5 / math.sqrt(trials)
    assert difference_success(10) == pytest.approx(0.512495, abs=1e-6)


def test_eight_rough_facts_name_everybody():
    rng = RNG(0)
    people, items, each = 2000, 1000, 30
    person = np.repeat(np.arange(people), each)
    rarity = 1 / (np.arange(items) + 20)
    item = np.concatenate([rng.choice(items, each, replace=False, p=rarity / rarity.sum()) for _ in range(people)])
    table = Ratings(person, item, rng.integers(1, 6, people * each), rng.integers(0, 2000, people * each))
    trials, claimed = counts(quick=40, full=200), 0
    for who in range(trials):
        mine = np.flatnonzero(table.person == who)[rng.permutation(each)[:8]]
        facts = [
            (int(table.item[at]), float(table.value[at]), float(table.day[at] + rng.integers(-14, 15))) for at in mine
        ]
        facts[0] = (int(rng.integers(items)), 3.0, 100.0)  # two of the eight are wrong
        facts[1] = (int(rng.integers(items)), 1.0, 900.0)
        found = linkage(table, facts)
        claimed += found.claimed and found.person == who

    assert claimed >= 0.95 * trials
    shuffled = Ratings(person, rng.permutation(table.item), rng.permutation(table.value), rng.permutation(table.day))
    chance = sum(
        linkage(
            shuffled,
            [
                (int(table.item[at]), float(table.value[at]), float(table.day[at]))
                for at in range(who * each, who * each + 8)
            ],
        ).person
        == who
        for who in range(20)
    )
    assert chance <= 2


def test_uniqueness_is_counted():
    import pandas as pd

    frame = pd.DataFrame({"zip": [1, 1, 2, 2], "born": [1, 2, 3, 3]})

    assert unique(frame, ["zip"]) == 0
    assert unique(frame, ["zip", "born"]) == 0.5


def test_the_lab_compares_and_says_so():
    found = compare_reconstruction(128, 512, noise=1.0, rng=SeededRandom(3))

    assert found.naive >= 0.99
    assert found.discreet < found.bound
    assert "128 people" in str(found)
    assert found.plot().to_dict()


@pytest.mark.parametrize(
    "arguments",
    [
        ([[0, 2]], [1.0]),
        ([[0, 1]], [1.0, 2.0]),
        ([[0, 1]], [math.nan]),
        ([0, 1], [1.0, 1.0]),
    ],
)
def test_bad_questions_are_refused(arguments):
    with pytest.raises(ParameterError):
        reconstruct(*arguments)


def _exactly(queries, answers):
    """The first table whose largest error is least, with rationals."""
    tables = all_subsets(queries.shape[1])
    given = [Fraction(float(answer)) for answer in answers]
    errors = [max(abs(int(c) - y) for c, y in zip(queries @ t.astype(int), given, strict=True)) for t in tables]
    return tables[errors.index(min(errors))]


def test_answers_just_off_the_middle_give_a_consistent_table_and_not_the_complement():
    """With E = 2 every answer is 2 - 1e-8 from the truth at worst, and single precision cannot see it."""
    asked = all_subsets(8).astype(int)
    secret = np.array([1, 0, 1, 1, 0, 0, 1, 0])
    middle = asked.sum(axis=1) / 2
    answers = middle + 1e-8 * np.sign(asked @ secret - middle)
    found = reconstruct(asked, answers, method="exhaustive")

    assert np.abs(asked @ secret - answers).max() < 2
    assert np.abs(asked @ found.bits.astype(int) - answers).max() < 2
    assert np.abs(asked @ (1 - secret) - answers).max() > 2


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 2.0**-54, 2.0**-53, 1e-17, 1e-9]))
def test_the_exhaustive_attack_compares_exactly(seed, off):
    """Ties but for what is below the last bit of a double: errors of one half and a little."""
    rng = np.random.default_rng(seed)
    queries = rng.integers(0, 2, (9, 4))
    answers = queries @ rng.integers(0, 2, 4) + rng.choice([-0.5, 0.5], 9) + off * rng.integers(-1, 2, 9)
    answers[rng.random(9) < 0.3] = off

    assert (reconstruct(queries, answers, method="exhaustive").bits == _exactly(queries, answers)).all()
