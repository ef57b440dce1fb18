"""discreet.attacks.exact: claims against whole laws."""

import math
from dataclasses import dataclass
from fractions import Fraction

import pytest

from discreet.attacks import audit_exact
from discreet.attacks.broken import ThresholdOffByOne, TruncatedOffByOne
from discreet.attacks.exact import renyi
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP


@dataclass(frozen=True)
class Coin:
    """Randomized response with truth probability p."""

    p: Fraction

    def law(self, value):
        return {value: self.p, 1 - value: 1 - self.p}

    def privacy(self):
        return PureDP(math.log(float(self.p / (1 - self.p))))


def test_the_claim_holds_and_nothing_smaller_does():
    coin = Coin(Fraction(3, 4))

    assert not audit_exact(coin, (0, 1), claim=PureDP(1.0986122886682)).violates()
    assert audit_exact(coin, (0, 1), claim=PureDP(1.0986)).violates()
    assert audit_exact(coin, (0, 1), claim=PureDP(0)).found == 0.5
    assert not audit_exact(coin, (0, 1), claim=ApproxDP(0, 0.5)).violates()
    assert audit_exact(coin, (0, 1), claim=ApproxDP(0, 0.4999)).violates()


def test_the_witness_is_the_worst_event():
    assert audit_exact(Coin(Fraction(3, 4)), (0, 1), claim=PureDP(1)).witness.event in ({0}, {1})


def test_renyi_divergence_in_closed_form():
    p, q = {0: 0.75, 1: 0.25}, {0: 0.25, 1: 0.75}

    assert renyi(p, q, 2) == pytest.approx(math.log(7 / 3))
    assert renyi(p, q, 1.000001) == pytest.approx(math.log(3) / 2, rel=1e-5)  # Kullback-Leibler
    assert renyi({0: 0.5, 1: 0.5}, {0: 1}, 2) == math.inf


def test_pure_privacy_is_half_its_square_in_zcdp():
    coin = Coin(Fraction(3, 4))

    assert not audit_exact(coin, (0, 1), claim=ZCDP(math.log(3) ** 2 / 2)).violates()
    assert audit_exact(coin, (0, 1), claim=ZCDP(math.log(3) ** 2 / 8)).violates()


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 3])
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-9])
@pytest.mark.parametrize("cls", [ThresholdOffByOne, TruncatedOffByOne])
def test_one_step_decides_between_a_true_delta_and_a_false_one(cls, epsilon, delta):
    """Also between neighbours that both hold the key, where only epsilon is spent."""
    honest, broken = (cls(epsilon=epsilon, delta=delta, slack=slack) for slack in (0, 1))

    assert not audit_exact(honest, (0, 1)).violates()
    assert not audit_exact(honest, (1, 2)).violates()
    assert audit_exact(broken, (0, 1)).violates()


def test_refuses_what_it_cannot_judge():
    with pytest.raises(UnsupportedError, match="GaussianDP"):
        audit_exact(Coin(Fraction(3, 4)), (0, 1), claim=GaussianDP(1))
    with pytest.raises(ParameterError):
        audit_exact(Coin(Fraction(3, 4)), (0,))
