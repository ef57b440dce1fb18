"""discreet.composition.refusal: what is left, and why a spend does not fit, as sentences."""

from fractions import Fraction

import pytest

from discreet.composition.filter import Lanes, PrivacyFilter
from discreet.composition.refusal import refusal
from discreet.errors import BudgetExhausted
from discreet.privacy import ZCDP, ApproxDP, PureDP

CAP = ApproxDP(1, 1e-6)


def _lanes(epsilon, rho, delta="0"):
    made = (None if amount is None else Fraction(amount) for amount in (epsilon, rho))
    return Lanes(*made, Fraction(delta))


SHUT = "(pure lane: closed, zCDP lane: closed)"
CASES = [
    (_lanes("0.45", "0.1"), _lanes("0.2", None), CAP, "epsilon 0.45, and epsilon 0.2 is left (zCDP lane: closed)"),
    (_lanes("0.9", "0.4"), _lanes("0.2", "0.01"), CAP, "epsilon 0.9 or rho 0.4, and epsilon 0.2 or rho 0.01 is left"),
    (
        _lanes(None, "0.1"),
        _lanes("1", None),
        CAP,
        "rho 0.1, and no rho is left (pure lane: epsilon 1, zCDP lane: closed)",
    ),
    (_lanes(None, "0.1"), _lanes(None, "0.01"), CAP, "rho 0.1, and rho 0.01 is left (pure lane: closed)"),
    (_lanes("1", "0.5"), _lanes(None, None), CAP, f"epsilon 1 or rho 0.5, and no epsilon or rho is left {SHUT}"),
    (_lanes("1", "0.5"), _lanes("0.5", None), PureDP(1), "epsilon 1, and epsilon 0.5 is left"),
    (_lanes("1", "0.5"), _lanes(None, "0.1"), ZCDP(1), "rho 0.5, and rho 0.1 is left"),
    (_lanes("0.1", "1"), _lanes("0.09999999", None), PureDP(1), "epsilon 0.1, and epsilon 0.09999999 is left"),
    (
        _lanes("0.1", "0.1", "1e-6"),
        _lanes("0.2", None, "1e-7"),
        CAP,
        "epsilon 0.1 with delta 1e-06, and epsilon 0.2 with delta 1e-07 is left (zCDP lane: closed)",
    ),
]


@pytest.mark.parametrize(("asked", "left", "cap", "says"), CASES, ids=range(len(CASES)))
def test_a_refusal_names_the_lanes_in_which_it_could_have_been_paid(asked, left, cap, says):
    said = refusal(asked, left, cap=cap, whose="unit 'patient'")

    assert said.replace(" is left of unit 'patient'", " is left") == f"budget exhausted: this asks for {says}"


def test_a_filter_with_two_lanes_refuses_in_the_same_words():
    spends = PrivacyFilter(CAP)
    spends.spend(PureDP(0.8))

    with pytest.raises(
        BudgetExhausted, match=r"asks for epsilon 0.5, and epsilon 0.2 is left of the cap \(zCDP lane: cl"
    ):
        spends.spend(PureDP(0.5))


def test_lanes_are_words_for_people_and_fields_for_programmers():
    lanes = _lanes("0.25", None, "5e-7")

    assert str(lanes) == "pure lane: epsilon 0.25; zCDP lane: closed; delta 5e-07"
    assert repr(lanes).startswith("Lanes(epsilon=Fraction(1, 4), rho=None")
