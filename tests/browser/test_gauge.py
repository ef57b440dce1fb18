"""discreet.service.console.gauge and the colours: what is shown is what the ledger reckons, and can be read."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.composition.price import FREE, Price
from discreet.ledger import Account
from discreet.ledger.account import Balance, capped, lifetime
from discreet.ledger.report import used
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.service.accounts import record
from discreet.service.console.files import stored
from discreet.service.console.gauge import change, gauge, gauges, present, timeline
from discreet.service.console.page import templates
from discreet.service.console.steward import CAP

PATIENT = Account("patient", "unit", "patient")
amounts = st.fractions(min_value=0, max_value=2, max_denominator=1000)
some = st.sampled_from([PureDP(1), PureDP("0.3"), ZCDP("0.05"), ApproxDP(1, 1e-6), ApproxDP("0.5", 1e-9)])
fractions = st.fractions(min_value=Fraction(1, 1000), max_value=3, max_denominator=1000)
caps = some | fractions.map(PureDP) | fractions.map(ZCDP) | fractions.map(lambda cap: ApproxDP(cap, Fraction(1, 3**13)))


def _balance(cap, spent):
    return Balance(cap, spent=spent, rho_cap=capped(cap).rho_cap)


DOUBT = "delta 0.5 is not far below 1/n"


def test_a_cap_whose_delta_is_large_says_what_to_know_of_it():
    for cap, said in ((ApproxDP(1, "0.5"), True), (ApproxDP(1, 1e-9), False), (PureDP(1), False), (ZCDP(1), False)):
        made = gauge(record(PATIENT, _balance(cap, FREE)))

        assert any(one.startswith(DOUBT) for one in made.doubts) == said == bool(made.doubts)


@pytest.mark.parametrize("template", ["_price.html", "confirm.html", "confirm_order.html", "caps.html"])
def test_pages_that_show_a_price_or_a_cap_show_what_to_know_of_its_delta(template):
    for doubts in ([], [f"{DOUBT} <of 100 people>"]):
        explained = {
            "price": {"epsilon": 1.0},
            "fits": True,
            "needs_approval": False,
            "removed": [],
            "alternatives": [],
            "outputs": [],
            "beta": 0.05,
            "doubts": doubts,
        }
        one = replace(gauge(record(PATIENT, _balance(ApproxDP(1, "0.5" if doubts else 1e-9), FREE))))
        context = {
            "order": {"question": "q"},
            "body": {},
            "form": CAP,
            "change": [],
            "units": {"patient": [one]},
            "key": "k",
        }
        shown = {
            "me": {"role": "steward", "principal": "s"},
            "here": "/x",
            "csrf": "c",
            "place": "/x",
            "done": None,
            "problem": None,
        }
        page = templates().get_template(template).render(explained=explained, **context, **shown)

        assert (DOUBT in page) == bool(doubts)
        assert "<of 100 people>" not in page


@given(caps, st.none() | amounts, amounts, st.fractions(min_value=0, max_value=Fraction(1, 10**6)))
def test_the_share_that_is_shown_is_the_ledgers(cap, epsilon, rho, delta):
    balance = _balance(cap, Price(epsilon, rho, delta))

    assert gauge(record(PATIENT, balance)).share == pytest.approx(used(balance), rel=1e-9)


@given(caps, st.lists(amounts, min_size=2, max_size=8))
def test_a_timeline_ends_at_what_is_spent_and_never_falls(cap, epsilons):
    prices = [Price(epsilon, epsilon * epsilon / 2, Fraction(0)) for epsilon in epsilons]
    balance = _balance(cap, sum(prices[1:], prices[0]))
    spends = [(n, {"epsilon": str(p.epsilon), "rho": str(p.rho), "delta": "0"}) for n, p in enumerate(prices)]
    line = timeline(record(PATIENT, balance), spends, until=100)
    heights = [120 - float(y) for y in re.findall(r"(?:M[\d.]+ |V)(-?[\d.]+)", line.path)]

    assert heights == sorted(heights)
    assert heights[0] == pytest.approx(0, abs=0.1)  # before the first of all spends nothing was spent
    assert heights[-1] == pytest.approx(120 * min(used(balance), line.top) / line.top, abs=0.1)


def test_one_spend_makes_no_line():
    assert timeline(record(PATIENT, _balance(PureDP(1), FREE)), [(1, {"epsilon": "1"})], until=2) is None


def test_a_timeline_is_over_time_and_goes_on_until_now():
    spends = [(time, {"epsilon": "1/4", "rho": "1/32", "delta": "0"}) for time in (1000, 1060, 1300)]
    balance = _balance(PureDP(1), Price(Fraction(3, 4), Fraction(3, 32), Fraction(0)))
    line = timeline(record(PATIENT, balance), spends, until=1600)
    across = [float(x) for x in re.findall(r"H([\d.]+)", line.path)]

    assert (line.first, line.last, line.charges) == (1000, 1600, 3)
    assert across == [0.0, 64.0, 320.0, 640.0]


@given(caps, amounts)
def test_after_a_renewal_the_present_period_decides_and_is_what_is_shown(cap, spent):
    """The twin that shows the unit's account, which is the sum over all periods, shows another share."""
    before, now = (_balance(cap, Price(spent * share, spent * share / 8, Fraction(0))) for share in (1, 0))
    both = replace(_balance(lifetime(cap, cap), before.spent), rho_cap=before.rho_cap)
    found = {
        "units": {
            "patient": [
                record(PATIENT, both),
                record(Account("patient", "period", "first"), replace(before, state="closed")),
                record(Account("patient", "period", "2027"), now),
                record(Account("patient", "analyst", "ada"), Balance()),
            ]
        }
    }
    head = present(gauges(found)["patient"])
    pairs = change({"before": found, "after": found})

    assert (head.scope, head.name, head.left) == ("period", "2027", 1.0)
    assert [one.name for one, _ in pairs if one.state is None] == ["2027"]  # neither the sum nor who has no cap
    assert present(gauges({"units": {"patient": [record(PATIENT, before)]}})["patient"]).scope == "unit"


def _colours(scheme: str) -> dict[str, str]:
    """The variables of the style, light or dark."""
    light, dark = re.split(r"@media \(prefers-color-scheme: dark\)", stored()["console.css"][0].decode(), maxsplit=1)
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", light))
    return found if scheme == "light" else found | dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", dark))


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """WCAG 2's contrast ratio."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


TEXTS = [(text, ground) for text in ("ink", "mark") for ground in ("paper", "surface", "soft")]
TEXTS += [(text, "surface") for text in ("faint", "word", "call", "string", "number")]
TEXTS += [("ink", "room"), ("faint", "paper"), ("mark-ink", "mark")]
TEXTS += [(text, f"{text}-soft") for text in ("good", "bad", "warn")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_the_contrast_that_is_asked_of_texts(scheme):
    colours = _colours(scheme)

    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert [pair for pair in TEXTS if contrast(colours[pair[0]], colours[pair[1]]) < 4.5] == []
    assert contrast(colours["field"], colours["surface"]) >= 3  # borders of fields
    for part in ("more", "mark"):
        assert contrast(colours[part], colours["room"]) >= 3, part  # what a bar shows


def test_the_two_schemes_differ():
    assert _colours("light")["paper"] != _colours("dark")["paper"]
