"""discreet.attacks: traitors, fingerprinting audits, signatures, circuits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.attacks import TraitorTracing, fingerprint_audit, mechanism_as_pirate, signed_rows
from discreet.attacks.circuits import Circuit, Gate, toy_verifier
from discreet.attacks.codes import PIRATES, mixed
from discreet.attacks.codes.pirates import feasible
from discreet.attacks.fingerprinting import wrong_marks
from discreet.attacks.tracing_lab import compare_tracing
from discreet.attacks.traitors import pirate
from discreet.data.columns import Boolean
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.gaussian import Gaussian
from discreet.privacy.guarantee import ZCDP
from discreet.synthesis import Synthesizer
from tests.scale import counts


def scheme(users=8, seed=1):
    return TraitorTracing.generate(users, seed=seed, rng=SeededRandom(seed))


def test_everybody_decrypts_their_own_word_and_nobody_elses():
    made = scheme()
    sent = made.broadcast(rng=SeededRandom(2))

    for user, record in enumerate(made.records):
        assert (record.decrypt(sent) == made.code.words[user]).all()
    stranger = type(made.records[0])(0, made.records[1].key)  # the wrong key for the component of user 0
    assert abs((stranger.decrypt(sent) == made.code.words[0]).mean() - 0.5) < 0.1


@pytest.mark.parametrize("strategy", sorted(PIRATES))
def test_decoders_are_traced_to_those_who_made_them(strategy):
    made = scheme()
    for trial in range(counts(quick=3, full=100)):
        coalition = [1, 4, 6]
        decoder = pirate([made.records[user] for user in coalition], lambda copies: mixed(copies, strategy, seed=5))
        accused = made.trace(decoder(made.broadcast(rng=SeededRandom(trial))))

        assert len(accused) >= 1
        assert set(accused.tolist()) <= set(coalition)


def test_a_decoder_without_keys_writes_no_feasible_word():
    made = scheme()
    sent = made.broadcast(rng=SeededRandom(2))
    guess = sent.bits[:, 0]  # a ciphertext read as if it were the bit

    assert not feasible(made.code.words, guess)
    assert wrong_marks(made.code.words, guess) > 0.4


def test_an_accurate_mechanism_is_traced_and_a_private_one_is_inaccurate():
    made = scheme()
    sent, held = made.broadcast(rng=SeededRandom(3)), list(made.records[:5])
    columns = len(made.code.biases)
    noise = Gaussian(epsilon=1, delta=0.02, sensitivity=columns**0.5, dimension=columns)

    exact = mechanism_as_pirate(lambda values: values, held, sent)
    private = mechanism_as_pirate(lambda values: noise(values, rng=SeededRandom(4)), held, sent)

    assert set(made.trace(exact).tolist()) <= set(range(5))
    assert len(made.trace(exact)) >= 1
    assert wrong_marks(made.code.words[:5], exact) == 0
    assert wrong_marks(made.code.words[:5], private) > 0.2


def test_the_audit_catches_the_accurate_and_believes_the_private():
    trials = counts(quick=60, full=400)
    accurate = fingerprint_audit(lambda values: values, users=4, trials=trials, delta=0.01, seed=1)

    def private(values):
        noise = Gaussian(epsilon=1, delta=0.01, sensitivity=len(values) ** 0.5, dimension=len(values))
        return noise(values, rng=SeededRandom(int(np.sum(values))))

    honest = fingerprint_audit(private, users=4, trials=trials, delta=0.01, seed=1)

    assert accurate.epsilon > 1.5
    assert accurate.wrong_marks == 0
    assert honest.epsilon <= 1
    assert honest.wrong_marks > 0.2


def test_synthetic_rows_of_signed_data_are_never_valid_and_copies_always_are():
    table = signed_rows(50)
    bits = np.unpackbits(table.rows[:, :20], axis=1)  # 160 columns are enough to be lost
    domain = Domain({f"b{place}": Boolean() for place in range(bits.shape[1])})
    made = Synthesizer(domain, budget=ZCDP(0.5), method="independent").fit(Records(domain, list(bits.T)))
    drawn = np.stack([np.asarray(column, dtype=np.uint8) for column in made.sample(50).columns], axis=1)
    rows = table.rows.copy()
    rows[:, :20] = np.packbits(drawn, axis=1)

    assert table.valid(table.rows).all()
    assert not table.valid(rows).any()
    assert table.copied(table.rows).all()
    assert not table.copied(rows).any()


@pytest.mark.parametrize("kind", ["and", "xor"])
def test_clauses_hold_exactly_for_right_gates(kind):
    circuit = Circuit(2, (Gate(kind, (0, 1)),))
    clauses = circuit.clauses()[:-1]
    for row in itertools.product((0, 1), repeat=3):
        right = row[2] == (row[0] & row[1] if kind == "and" else row[0] ^ row[1])
        held = all(any(bool(row[column]) == wanted for column, wanted in clause) for clause in clauses)

        assert held == right
        assert all(len(clause) <= 3 for clause in clauses)


def test_the_toy_verifier_accepts_exactly_the_permutation():
    circuit = toy_verifier(2026)
    every = np.array(list(itertools.product((0, 1), repeat=16)), dtype=np.uint8)
    accepted = every[circuit.encode(every)[:, -1] == 1]

    assert len(accepted) == 256
    assert len({tuple(row[:8]) for row in accepted}) == 256
    assert len({tuple(row[8:]) for row in accepted}) == 256


def test_accurate_marginals_hand_out_a_signature_and_noisy_ones_do_not():
    circuit = toy_verifier(2026)
    every = np.array(list(itertools.product((0, 1), repeat=16)), dtype=np.uint8)
    accepted = every[circuit.encode(every)[:, -1] == 1]
    private = circuit.encode(accepted[:40])
    noisy = private ^ (np.random.default_rng(0).random(private.shape) < 0.05)

    assert (circuit.satisfied(private) == 1).all()
    found = circuit.decode(private)
    assert circuit.encode(found[None])[0, -1] == 1
    assert circuit.satisfied(noisy).min() < 1 - 1 / len(circuit.clauses())
    assert circuit.decode(noisy) is None


def test_the_lab_names_pirates_and_says_so():
    found = compare_tracing(30, 4, strategy="majority", rng=SeededRandom(1))

    assert set(found.named) <= set(range(4))
    assert len(found.named) >= 1
    assert found.innocent == ()
    assert found.wrong_marks > 0.3
    assert "30 users" in str(found)
    assert found.plot().to_dict()


@pytest.mark.parametrize(
    "call",
    [
        lambda: TraitorTracing.generate(0, seed=1),
        lambda: pirate([], lambda copies: copies[0]),
        lambda: signed_rows(0),
        lambda: signed_rows(1).valid([[1, 2]]),
        lambda: Circuit(1, (Gate("and", (0, 1)),)),
        lambda: toy_verifier(1).encode([[1]]),
        lambda: fingerprint_audit(lambda values: values, users=3, trials=0, seed=1),
        lambda: compare_tracing(3, 5),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(ParameterError):
        call()
