"""discreet.service.store and approvals: the same records in SQLite and PostgreSQL, also for several at once."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.composition.price import Price
from discreet.privacy import ZCDP, ApproxDP, PureDP
from discreet.service import approvals
from discreet.service.problems import Problem
from discreet.service.settings import Settings
from discreet.service.store import open_store
from discreet.service.tokens import find, issue, listed, open_session, revoke
from tests.service.conftest import hospital

COST = Price(Fraction(1), Fraction(1, 2), Fraction(0))
BODY = {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": 1}


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """Where the records are."""
    return tmp_path / "service.db" if request.param == "sqlite" else request.getfixturevalue("fresh_postgres_url")


def test_tokens_are_kept_found_and_ended(place):
    with open_store(place) as store, open_store(place) as other:
        secret = issue(store, principal="ada", role="analyst", days=1, datasets=["visits"])
        session = open_session(other, find(other, secret))

        assert find(other, session).datasets == ("visits",)
        revoke(other, secret[4:12])
        assert find(store, session) is None
        assert [token.id for token in listed(store)] == [secret[4:12]]


def _wait(store):
    told = approvals.granted(store, "ada", "ask", BODY, COST, key=secrets.token_hex(4))
    return None if told is None else told["approval"]


def test_one_approval_is_used_once_however_many_want_it_at_once(place):
    with open_store(place) as store:
        number = _wait(store)
        assert _wait(store) == number
        approvals.decide(store, number, decision="approve", reason="good", steward="bea")
        stores = [open_store(place) for _ in range(4)]
        with ThreadPoolExecutor(4) as pool:
            told = list(pool.map(_wait, stores * 4))
        for one in stores:
            one.close()

        assert told.count(None) == 1


def test_a_decision_stands(place):
    with open_store(place) as store:
        number = _wait(store)
        decided = approvals.decide(store, number, decision="refuse", reason="too much", steward="bea")
        with pytest.raises(Problem) as refused:
            approvals.decide(store, number, decision="approve", reason="after all", steward="cy")

        assert (decided["state"], decided["steward"], decided["body"]) == ("refused", "bea", BODY)
        assert refused.value.slug == "conflict"
        assert approvals.listed(store, "ada")[0]["reason"] == "too much"
        assert approvals.listed(store, "bob") == []


@pytest.mark.parametrize(
    ("epsilon", "rho", "delta", "threshold", "needed"),
    [
        (1, "1/2", 0, PureDP(1), False),
        (1, "1/2", 0, PureDP("0.999"), True),
        (None, "0.01", 0, PureDP(1), True),
        (None, "0.01", 0, ZCDP("0.01"), False),
        (None, "0.011", 0, ZCDP("0.01"), True),
        (None, "0.01", 0, ApproxDP(1, 1e-6), False),
        (None, "0.03", 0, ApproxDP(1, 1e-6), True),
        (1, "1/2", "4e-7", ApproxDP(1, 1e-6), False),
        (1, "1/2", "6e-7", ApproxDP(1, 1e-6), True),
        (9, "81/2", 0, None, False),
    ],
)
def test_a_price_needs_approval_where_a_cap_of_the_threshold_would_refuse_it(epsilon, rho, delta, threshold, needed):
    amounts = (None if epsilon is None else Fraction(epsilon), Fraction(rho), Fraction(delta))

    assert approvals.needed(Price(*amounts), threshold) == needed


def test_the_command_line_issues_lists_and_revokes(tmp_path):
    file = str(hospital(tmp_path))
    run = CliRunner()
    given = ["token", "issue", "-c", file, "--principal", "ada", "--role", "analyst", "--datasets", "visits"]
    secret = run.invoke(app, given).stdout.strip()
    shown = run.invoke(app, ["token", "list", "-c", file]).stdout
    with open_store(Settings.read(file)) as store:
        before = find(store, secret)
        run.invoke(app, ["token", "revoke", secret[4:12], "-c", file])
        after = find(store, secret)

    assert (before.principal, before.datasets, after) == ("ada", ("visits",), None)
    assert secret[4:12] in shown
    assert secret[13:] not in shown
    assert run.invoke(app, ["token", "list", "-c", file, "--json"]).stdout.count('"revoked": "2') == 1
    assert run.invoke(app, ["token", "revoke", "ffffffff", "-c", file]).exit_code == 1
