"""discreet.ledger.amount: exact totals that neither lose a spend nor grow for ever."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.composition.price import FREE, Price, price
from discreet.errors import LedgerError, ParameterError
from discreet.ledger import Ledger
from discreet.ledger.amount import GRAIN, LONGEST, add, amount, charge, read, read_cap, settled, write, write_cap
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove
from tests.scale import counts

amounts = st.fractions(min_value=0, max_value=100)
CAPS = [PureDP(1), ApproxDP("1/3", 1e-6), ZCDP(0.5), ApproxDP(1, 1e-6, neighbours=AddRemove)]


@given(st.lists(amounts, max_size=30))
def test_totals_are_exact_while_denominators_are_short(spends):
    total = Fraction(0)
    for spend in spends:
        total = add(total, spend)

    assert total == sum(spends)


def _coprime(count: int, start: int = 10**40) -> list[int]:
    """Pairwise coprime numbers: every sum of their inverses has the product as its denominator."""
    found, product, candidate = [], 1, start + 1
    while len(found) < count:
        if math.gcd(product, candidate) == 1:
            found.append(candidate)
            product *= candidate
        candidate += 2
    return found


def test_hostile_denominators_cannot_make_the_total_grow():
    spends = [Fraction(1, prime) for prime in _coprime(200)]
    total, reference = Fraction(0), Fraction(0)
    for spend in spends:
        total, reference = add(total, spend), reference + spend

    assert reference.denominator.bit_length() > 20_000  # the twin that always adds exactly grows without bound
    assert total.denominator <= 2**LONGEST * GRAIN
    assert 0 <= total - reference <= len(spends) / Fraction(GRAIN)


def test_a_total_is_never_below_the_truth():
    """The twin that rounds down loses every spend."""
    tiny = Fraction(1, 7**500)
    total = Fraction(0)
    for _ in range(100):
        total = add(total, tiny)
    down = tiny.numerator * GRAIN // tiny.denominator

    assert total >= 100 * tiny
    assert down == 0


@given(amounts, amounts, st.fractions(min_value=0, max_value="1/2"), st.booleans())
def test_what_is_written_is_read_back(epsilon, rho, delta, closed):
    paid = Price(None if closed else epsilon, rho, delta)

    assert read(write(paid)) == paid


@pytest.mark.parametrize("cap", CAPS, ids=repr)
def test_caps_are_read_back(cap):
    assert read_cap(write_cap(cap)) == cap


HOSTILE_TEXT = [
    "", "-1", "+1", "1/0", "0/0", "2/4", "01", "1.0", "1e3", "1e999", " 1", "1 ", "1/", "/1", "nan", "inf", "1/-2",
    "\u0661", "\uff11", "1\u2044" + "2", "1_000", "9" * 5000, "1/" + "9" * 5000, "0x10", "1//2", "1/2/3", "None",
    "1/00", "1/01",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE_TEXT, ids=lambda text: ascii(text[:12]))
def test_an_amount_has_one_spelling(text):
    with pytest.raises(LedgerError, match="ill-formed amount"):
        amount(text)


@pytest.mark.parametrize(
    "record",
    [None, [], {}, {"epsilon": "1", "rho": "1"}, {"epsilon": 1, "rho": "1", "delta": "0"}, write(FREE) | {"x": "1"}],
)
def test_an_ill_formed_price_is_refused(record):
    with pytest.raises(LedgerError, match="ill-formed"):
        read(record)


@pytest.mark.parametrize(
    "record", [None, {}, write_cap(PureDP(1)) | {"epsilon": "2/2"}, write_cap(PureDP(1)) | {"kind": "GaussianDP"},
               write_cap(ApproxDP(1, 0.5)) | {"delta": "1"}, write_cap(PureDP(1)) | {"neighbours": "Friends"},
               write_cap(PureDP(1)) | {"extra": "1"}]
)  # fmt: skip
def test_an_ill_formed_cap_is_refused(record):
    with pytest.raises(LedgerError, match="ill-formed"):
        read_cap(record)


ONE, NONE = Fraction(1), Fraction(0)
HOSTILE = [
    Price(Fraction(-1), ONE, NONE), Price(ONE, Fraction(-1), NONE), Price(ONE, ONE, Fraction(-1)),
    Price(ONE, ONE, ONE), Price(ONE, NONE, NONE), Price(None, NONE, NONE), FREE,
    Price(0.1, ONE, NONE), Price(float("nan"), ONE, NONE), Price(float("inf"), ONE, NONE), Price(ONE, 0.5, NONE),
    Price(ONE, ONE, 1e-6), Price(True, ONE, NONE), Price(1, ONE, NONE), Price("1", ONE, NONE), Price(ONE, None, NONE),
    Price(ONE, ONE, None), Price(Fraction(2**70), ONE, NONE), Price(ONE, Fraction(10**400), NONE),
    Price(Fraction(10**5000), ONE, NONE), Price(ONE, ONE, Fraction(10**5000)),
]  # fmt: skip


@pytest.mark.parametrize("paid", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_price_is_refused_before_anything_is_written(paid):
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=ApproxDP(10, 1e-3))
        before = ledger.anchor()

        with pytest.raises(ParameterError):
            ledger.spend(paid, unit="patient", tables=["visits"])
        assert ledger.anchor() == before


HOSTILE_NUMBERS = [
    float("nan"),
    float("inf"),
    -1,
    "1e999999",
    "9" * 6000,
    "\u0661",
    "",
    "1/0",
    True,
    None,
    b"1",
    1j,
    [1],
]


@pytest.mark.parametrize("epsilon", HOSTILE_NUMBERS, ids=lambda value: ascii(value)[:20])
def test_a_hostile_number_is_refused_before_it_is_a_price(epsilon):
    with pytest.raises(ParameterError):
        PureDP(epsilon)


def test_a_subnormal_spend_is_not_lost():
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=PureDP(1))
        for _ in range(3):
            ledger.spend(PureDP(5e-324), unit="patient", tables=[])

        assert ledger.budget("patient").balance.spent.epsilon >= 3 * Fraction("5e-324")
        assert 1.0 - 3 * 5e-324 == 1.0  # the twin in floats forgets them


def test_fifty_spends_of_a_fiftieth_are_exactly_fifty():
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=PureDP(1.0))
        for _ in range(50):
            ledger.spend(PureDP(0.02), unit="patient", tables=["visits"])

        assert ledger.budget("patient").balance.remaining.epsilon == 0
        with pytest.raises(Exception, match="budget exhausted"):
            ledger.spend(PureDP(5e-324), unit="patient", tables=["visits"])


def test_the_twin_in_floats_miscounts():
    total, granted = 0.0, 0
    while total + 0.1 <= 1.0:
        total, granted = total + 0.1, granted + 1
    spent = 0.0
    for _ in range(50):
        spent += 0.02

    assert spent != 1.0
    assert total != 1.0


def test_a_million_tenths_are_exactly_a_hundred_thousand(record_property):
    """At full counts: 10^6 spends of 1/10 leave exactly nothing of 10^5."""
    spends = counts(quick=20_000, full=1_000_000)
    tenth = settled(price(PureDP(0.1)))
    spent = FREE
    for _ in range(spends):
        spent = charge(spent, read(write(tenth)))
        spent = read(write(spent)) if spent.rho.denominator == 1 else spent
    record_property("spends", spends)

    assert spent.epsilon == Fraction(spends, 10)
    assert spent.rho == Fraction(spends, 200)
