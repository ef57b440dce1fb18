"""discreet.service.routes: what a steward does: caps, allotments, approvals, tables, tokens, audits."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.curator import Curator
from discreet.errors import LedgerError
from discreet.privacy import ApproxDP
from discreet.service import approvals
from discreet.service.running.outcome import Order
from tests.scale import counts
from tests.service.conftest import TOML, hospital, opened
from tests.service.inline import COUNT, ask

APPROVAL = '\n[service.approval]\nepsilon = "0.5"\n'
ONE_UNIT = TOML[: TOML.index("[tables.payroll]")]


def test_an_allotment_binds_and_the_refusal_says_what_is_left(asking):
    body = {"scope": "analyst", "name": "ada", "unit": "patient", "budget": {"epsilon": "0.25", "delta": "1e-9"}}
    asking("POST", "/v1/caps", json=body | {"reason": "a pilot"}).raise_for_status()
    codes = [ask(asking, fresh=True).status_code for _ in range(3)]
    refused = ask(asking, fresh=True).json()
    me = asking("GET", "/v1/me", as_="ada").json()

    assert codes == [200, 200, 409]
    assert refused["remaining"]["scope"] == "analyst"
    assert refused["remaining"]["epsilon"] == pytest.approx(0.05)
    assert me["allotment"]["patient"]["exact"]["epsilon"] == "1/5"
    assert ask(asking, as_="analyst", fresh=True).status_code == 200


def test_colluding_accounts_cannot_outspend_the_unit(asking):
    tokens = [
        asking("POST", "/v1/tokens", json={"principal": f"eve {i}", "role": "analyst", "days": 1}).json()["token"]
        for i in range(5)
    ]
    codes = [ask(asking, as_=tokens[i % 5], epsilon="0.3", fresh=True).status_code for i in range(10)]

    assert codes.count(200) == 6  # of a cap of 2, at 0.3 each
    assert codes[6:] == [409] * 4


@pytest.mark.parametrize("asking", [APPROVAL], indirect=True)
def test_a_question_above_the_threshold_waits_and_one_approval_is_one_charge(asking):
    waits = ask(asking, epsilon="0.6")
    again = ask(asking, epsilon="0.6")
    number = waits.json()["approval"]
    listed = asking("GET", "/v1/approvals", as_="ada").json()["approvals"]

    assert (waits.status_code, waits.json()["state"], again.json()) == (202, "waiting", waits.json())
    assert asking.app.state.runner.orders == []
    assert [(one["id"], one["principal"], one["price"]["epsilon"]) for one in listed] == [(number, "ada", 0.6)]
    assert asking("GET", "/v1/approvals", as_="analyst").json()["approvals"] == []
    decided = asking("POST", f"/v1/approvals/{number}", json={"decision": "approve", "reason": "good"}).json()
    assert (decided["state"], decided["steward"]) == ("approved", "the steward")
    assert asking("POST", f"/v1/approvals/{number}", json={"decision": "refuse", "reason": "no"}).status_code == 409
    assert ask(asking, epsilon="0.7").status_code == 202  # another request
    assert ask(asking, as_="analyst", epsilon="0.6").status_code == 202  # another principal
    assert ask(asking, epsilon="0.6").status_code == 200
    assert ask(asking, epsilon="0.6").json()["receipt"]["replayed"]  # what is paid for needs no approval
    assert ask(asking, epsilon="0.6", fresh=True).status_code == 202


@pytest.mark.parametrize("asking", [APPROVAL], indirect=True)
def test_a_question_at_the_threshold_is_answered_and_a_refused_one_waits_anew(asking):
    number = ask(asking, epsilon="0.51").json()["approval"]
    asking("POST", f"/v1/approvals/{number}", json={"decision": "refuse", "reason": "no"}).raise_for_status()

    assert ask(asking, epsilon="0.5").status_code == 200
    assert ask(asking, epsilon="0.51").json()["approval"] != number
    explained = asking("POST", "/v1/explain", json={"question": COUNT, "epsilon": "0.51"}).json()
    assert explained["needs_approval"]


@pytest.mark.parametrize("asking", [APPROVAL], indirect=True)
def test_so_many_requests_of_one_principal_wait_and_those_of_the_others_are_not_buried(asking, monkeypatch):
    monkeypatch.setattr(approvals, "LISTED", 3)
    old = ask(asking, as_="analyst", epsilon="0.6").json()["approval"]
    codes = [ask(asking, epsilon=f"0.{600 + more}").status_code for more in range(approvals.WAITING + 2)]
    refused = ask(asking, epsilon="0.9")
    waiting = [one["id"] for one in asking("GET", "/v1/approvals", as_="ada").json()["approvals"]]
    for number in waiting:
        asking("POST", f"/v1/approvals/{number}", json={"decision": "refuse", "reason": "no"}).raise_for_status()
    monkeypatch.setattr(approvals, "LISTED", approvals.WAITING - len(waiting) + 1)
    states = [one["state"] for one in asking("GET", "/v1/approvals").json()["approvals"]]

    assert codes == [202] * approvals.WAITING + [429] * 2
    assert refused.json()["type"] == "urn:discreet:problem:too-many-requests"
    assert "Retry-After" in refused.headers
    assert states == ["waiting"] * len(states)
    assert old in [one["id"] for one in asking("GET", "/v1/approvals").json()["approvals"]]
    assert ask(asking, epsilon="0.9").status_code == 202  # some were decided
    assert ask(asking, as_="analyst", epsilon="0.7").status_code == 202


def test_a_unit_of_one_file_is_topped_up_in_ledger_and_file_together(tmp_path):
    file = hospital(tmp_path)
    file.write_text(f"# the hospital's curator\n{ONE_UNIT}")
    cap = {"scope": "unit", "name": "patient", "reason": "a second study"}
    with opened(file) as served:
        raised = served("POST", "/v1/caps", json=cap | {"budget": {"epsilon": "3", "delta": "1e-6"}})
        lower = served("POST", "/v1/caps", json=cap | {"budget": {"epsilon": "1", "delta": "1e-6"}})

        assert raised.status_code == 200
        assert raised.json()["accounts"][0]["cap"] == "ApproxDP(epsilon=3.0, delta=1e-06)"
        assert (lower.status_code, lower.json()["type"]) == (409, "urn:discreet:problem:conflict")
        assert served("GET", "/v1/budget").status_code == 200
    assert file.read_text().startswith("# the hospital's curator\n")
    with Curator.open(file) as curator:
        assert str(curator.budget.balance.cap) == "ApproxDP(epsilon=3.0, delta=1e-06)"


BUDGET = '[budget]\nepsilon = "2"\ndelta = "1e-6"\n'
SPELLINGS = {
    "spaces": '[ budget ]\nepsilon = "2"\ndelta = "1e-6"\n',
    "quotes": "['budget']\n\"epsilon\" = 2\n'delta' = 1e-6\n",
    "comments": '[budget]  # why\n# agreed. epsilon = "2" theirs\nepsilon = "2"  # a year\ndelta = "1e-6"\n\n# on\n',
    "windows": '[budget]\r\nepsilon = "2"\r\ndelta = "1e-6"\r\n',
    "inline": 'budget = { epsilon = "2", delta = "1e-6" }  # = { epsilon = "2" }\n',
    "dotted": 'budget.epsilon = "2"\nbudget.delta = "1e-6"\n',
}  # fmt: skip
STRANGE = {
    "escape": '[budget]\n"epsil\\u006fn" = "2"\ndelta = "1e-6"\n',
    "lines": '[budget]\nepsilon = """\\\n  2"""\ndelta = "1e-6"\n',
    "in a text": 'note = """\n[budget]\nepsilon = 1\n"""\n[budget]\nepsilon = "2"\ndelta = "1e-6"\n',
}
MORE = {"scope": "unit", "name": "patient", "reason": "more", "budget": {"epsilon": "3", "delta": "1e-6"}}


def _spelt(folder, budget):
    """A curator's file whose budget is spelt in some way; at the top, where TOML has what is in no section."""
    file = hospital(folder, rows=50)
    file.write_bytes((budget + ONE_UNIT.replace(BUDGET, "").replace('ledger = "ledger.db"', "")).encode())
    return file


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_budget_is_raised_however_it_is_spelt_and_the_rest_of_the_file_stays(tmp_path, spelling):
    file = _spelt(tmp_path, SPELLINGS[spelling])
    before = file.read_bytes()
    with opened(file) as served:
        assert served("POST", "/v1/caps", json=MORE).status_code == 200
    with opened(file) as served:  # after a restart
        assert served("GET", "/v1/budget").json()["units"]["patient"][0]["cap"] == "ApproxDP(epsilon=3.0, delta=1e-06)"
    after = file.read_bytes()

    changed = [(old, new) for old, new in zip(before.splitlines(), after.splitlines(), strict=True) if old != new]
    assert len(changed) in (1, 2)  # the lines of the amounts: "1e-6" may stay as it is
    for old, new in changed:
        assert new.partition(b"#")[2] == old.partition(b"#")[2]


@pytest.mark.parametrize("spelling", STRANGE)
def test_a_file_whose_budget_cannot_be_rewritten_is_refused_before_the_ledger_promises_more(tmp_path, spelling):
    file = _spelt(tmp_path, STRANGE[spelling])
    before = file.read_bytes()
    with opened(file) as served:
        last = served("GET", "/v1/ledger/anchor").json()
        refused = served("POST", "/v1/caps", json=MORE)

        assert (refused.status_code, refused.json()["type"]) == (409, "urn:discreet:problem:conflict")
        assert "[budget]" in refused.json()["remedy"]
        assert served("GET", "/v1/ledger/anchor").json() == last
    assert file.read_bytes() == before
    with opened(file) as served:
        assert served("GET", "/v1/budget").status_code == 200


def test_the_twin_that_promises_before_it_looks_at_the_file_cannot_be_started_again(tmp_path):
    file = _spelt(tmp_path, STRANGE["escape"])
    with opened(file) as served:
        served.app.state.desk.curator.ledger.top_up("patient", ApproxDP(3, 1e-6), reason="more")

    with pytest.raises(LedgerError, match="cannot be changed"), opened(file):
        pass


def test_a_top_up_that_stopped_between_ledger_and_file_is_ended_by_the_same_request(tmp_path):
    file = hospital(tmp_path)
    file.write_text(ONE_UNIT)
    cap = {"scope": "unit", "name": "patient", "reason": "a second study", "budget": {"epsilon": "3", "delta": "1e-6"}}
    with opened(file) as served:
        served.app.state.desk.curator.ledger.top_up("patient", ApproxDP(3, 1e-6), reason="a second study")
        last = served("GET", "/v1/ledger/anchor").json()

        assert served("POST", "/v1/caps", json=cap).status_code == 200
        assert served("GET", "/v1/ledger/anchor").json() == last
    with Curator.open(file) as curator:
        assert str(curator.budget.balance.cap) == "ApproxDP(epsilon=3.0, delta=1e-06)"


def test_caps_of_tables_bind_and_several_units_are_not_topped_up_through_one_file(asking):
    table = {"scope": "table", "name": "visits", "budget": {"epsilon": "0.15", "delta": "1e-9"}, "reason": "small"}
    unit = {"scope": "unit", "name": "patient", "budget": {"epsilon": "3", "delta": "1e-6"}, "reason": "more"}
    set_ = asking("POST", "/v1/caps", json=table)
    codes = [ask(asking, fresh=True).status_code for _ in range(2)]

    assert set_.json()["unit"] == "patient"
    assert codes == [200, 409]
    assert asking("POST", "/v1/caps", json=unit).json()["type"] == "urn:discreet:problem:unsupported"
    assert asking("POST", "/v1/caps", json=unit | {"name": "dog"}).status_code == 404
    nameless = {"scope": "analyst", "name": "ada", "budget": {"rho": "0.1"}, "reason": "why"}
    assert asking("POST", "/v1/caps", json=nameless).status_code == 400


def test_why_a_cap_of_a_table_or_an_analyst_was_set_is_in_the_ledger(asking):
    table = {"scope": "table", "name": "visits", "budget": {"epsilon": "0.5", "delta": "1e-9"}, "reason": "small"}
    analyst = {"scope": "analyst", "name": "ada", "unit": "patient", "budget": {"rho": "0.1"}, "reason": "a pilot"}
    for body in (table, analyst):
        assert asking("POST", "/v1/caps", json=body).status_code == 200
    bodies = [entry["body"] for entry in asking("GET", "/v1/ledger").json()["entries"]][-2:]

    assert [(body["name"], body["reason"]) for body in bodies] == [("visits", "small"), ("ada", "a pilot")]
    assert [body["cap"].get("epsilon", body["cap"].get("rho")) for body in bodies] == ["1/2", "1/10"]


LONG = {"epsilon": "1", "delta": "1e-2000"}
amounts = st.one_of(
    st.builds("{}e{}".format, st.sampled_from(["1", "0.3"]), st.integers(-5000, 5000)),
    st.integers(0, 4200).map(lambda digits: 10**digits),
    st.floats(0, 1e308),
)


@pytest.fixture(scope="module")
def steward(tmp_path_factory):
    """A service of one unit that many hostile caps are sent to."""
    file = hospital(tmp_path_factory.mktemp("caps"), rows=50)
    file.write_text(f"{ONE_UNIT}\n[service]\nrate = 1000000\n")  # as many as are sent
    with opened(file) as served:
        yield served


@settings(max_examples=counts(quick=40, full=2_000), deadline=None)
@given(epsilon=amounts, delta=st.none() | amounts, path=st.sampled_from(["/v1/tokens", "unit", "table", "analyst"]))
def test_no_cap_that_a_steward_sends_closes_the_ledger(steward, epsilon, delta, path):
    budget = {"epsilon": epsilon} | ({} if delta is None else {"delta": delta})
    names = {"unit": "patient", "table": "visits", "analyst": "eve"}
    token = {"principal": "bob", "role": "analyst", "days": 1, "allotment": budget}
    body = token if path not in names else {"scope": path, "name": names[path], "budget": budget, "reason": "why"}
    last = steward("GET", "/v1/ledger/anchor").json()
    reply = steward("POST", path if path not in names else "/v1/caps", json=body)

    assert reply.status_code in (200, 201, 400, 409), reply.text
    if reply.status_code >= 400:
        assert steward("GET", "/v1/ledger/anchor").json() == last
    assert steward("GET", "/v1/ledger/verify").json()["verified"]
    assert steward("GET", "/v1/budget").status_code == 200


@pytest.mark.parametrize("budget", [LONG, {"epsilon": "1e999"}, {"epsilon": int("9" * 2000)}, {"rho": "1e-3900"}])
def test_an_amount_that_no_ledger_keeps_is_refused_before_it_gets_there(steward, budget):
    wanted = {"principal": "bob", "role": "analyst", "days": 1, "allotment": budget}
    reply = steward("POST", "/v1/tokens", json=wanted)

    assert (reply.status_code, reply.json()["type"]) == (400, "urn:discreet:problem:parameter")
    assert "2^64" in reply.json()["detail"]


WARDS = {
    "name": "wards",
    "source": "wards.csv",
    "public": True,
    "columns": {
        "ward": {"type": "categorical", "values": ["cardiology", "oncology"]},
        "beds": {"type": "integer", "low": 0, "high": 99},
    },
}


def test_a_registered_table_is_there_at_once_in_every_worker_process(asking):
    file = asking.app.state.path
    before = file.read_text()
    with opened(file) as other:
        assert other("GET", "/v1/datasets/wards").status_code == 404
        made = asking("POST", "/v1/datasets", json=WARDS)
        other.app.state.desk._looked = 0.0  # a moment has passed

        assert made.status_code == 201
        assert other("GET", "/v1/datasets/wards").json() == made.json()
        assert made.json()["columns"]["beds"] == {"type": "integer", "low": 0, "high": 99}
    assert file.read_text().startswith(before.rstrip("\n"))
    assert asking("POST", "/v1/datasets", json=WARDS).status_code == 409
    assert asking("POST", "/v1/datasets", json=WARDS | {"name": "WARDS"}).status_code == 409
    assert [path.name for path in file.parent.glob(".*.new")] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "a b"},
        {"name": "x]\n[budget"},
        {"source": ""},
        {"columns": {"age": {"type": "integer", "low": "", "high": 1}}},
        {"columns": {"age": {"type": "integer", "low": 3, "high": 1}}},
        {"columns": {"age": {"type": "nonsense"}}},
        {"columns": {}},
        {"columns": {"age": {"type": "integer", "low": None, "high": 1}}},
        {"unit": "nobody"},
        {"rows_per_unit": 0},
        {"budget": {"epsilon": 100}},
    ],
)
def test_a_declaration_that_is_wrong_changes_no_file(asking, wrong):
    before = asking.app.state.path.read_bytes()
    body = json.dumps(WARDS | {"public": False, "name": "more"} | wrong)
    reply = asking("POST", "/v1/datasets", content=body, headers={"Content-Type": "application/json"})

    assert reply.status_code == 400
    assert asking.app.state.path.read_bytes() == before


def test_a_file_that_cannot_be_read_leaves_things_as_they_were(asking):
    file, desk = asking.app.state.path, asking.app.state.desk
    good = file.read_text()
    file.write_text(good + "\n[tables.broken")
    desk.look()

    assert ask(asking).status_code == 200
    file.write_text(good)
    desk.look()
    assert asking("GET", "/v1/datasets").status_code == 200


def test_a_token_is_shown_once_with_its_allotment_set(asking):
    wanted = {"principal": "bob", "role": "analyst", "days": 3, "datasets": ["visits"]}
    made = asking("POST", "/v1/tokens", json=wanted | {"allotment": {"epsilon": "0.1", "delta": "1e-9"}}).json()
    listed = asking("GET", "/v1/tokens")

    assert (
        asking("GET", "/v1/me", as_=made["token"]).json()["allotment"]["patient"]["cap"]
        == "ApproxDP(epsilon=0.1, delta=1e-09)"
    )
    assert ask(asking, as_=made["token"], epsilon="0.11").status_code == 409
    assert made["token"] not in listed.text
    assert made["id"] in {token["id"] for token in listed.json()["tokens"]}
    assert asking("DELETE", f"/v1/tokens/{made['id']}").status_code == 204
    assert asking("GET", "/v1/me", as_=made["token"]).status_code == 401


@pytest.mark.parametrize(
    "wrong",
    [
        {"principal": "oidc:bob"},
        {"principal": " bob"},
        {"role": "auditor", "datasets": ["visits"]},
        {"allotment": {"mu": 1}},
        {"datasets": ["nothing"]},
    ],
)
def test_a_token_that_is_refused_leaves_no_allotment(asking, wrong):
    last = asking("GET", "/v1/ledger/anchor").json()
    wanted = {"principal": "bob", "role": "analyst", "days": 3, "allotment": {"epsilon": "0.1", "delta": "1e-9"}}
    refused = asking("POST", "/v1/tokens", json=wanted | wrong)

    assert refused.status_code == 400
    assert asking("GET", "/v1/ledger/anchor").json() == last
    principals = [token["principal"] for token in asking("GET", "/v1/tokens").json()["tokens"] if not token["revoked"]]
    assert "bob" not in "".join(principals)


def test_an_allotment_that_the_ledger_refuses_leaves_no_token(asking):
    wanted = {"principal": "bob", "role": "analyst", "days": 3, "allotment": {"epsilon": "0.1"}}
    asking("POST", "/v1/tokens", json=wanted | {"datasets": ["payroll"]}).raise_for_status()
    last = asking("GET", "/v1/ledger/anchor").json()
    refused = asking("POST", "/v1/tokens", json=wanted | {"allotment": {"rho": "0.1"}})  # bob is capped in epsilon

    assert (refused.status_code, refused.json()["type"]) == (409, "urn:discreet:problem:conflict")
    assert asking("GET", "/v1/ledger/anchor").json() == last  # in the unit that came first neither
    assert len([one for one in asking("GET", "/v1/tokens").json()["tokens"] if not one["revoked"] and
                one["principal"] == "bob"]) == 1  # fmt: skip


NURSES = {
    "name": "shifts",
    "source": "payroll.parquet",
    "unit": "nurse",
    "columns": {"nurse": {"type": "identifier"}, "salary": {"type": "integer", "low": 0, "high": 9}},
}


@pytest.mark.parametrize("by", ["the API", "hand"])
def test_an_allotment_holds_in_a_unit_that_is_registered_later(asking, by):
    wanted = {"principal": "bob", "role": "analyst", "days": 3, "allotment": {"epsilon": "0.1", "delta": "1e-9"}}
    bob = asking("POST", "/v1/tokens", json=wanted).json()["token"]
    if by == "the API":
        asking("POST", "/v1/datasets", json=NURSES).raise_for_status()
    else:
        columns = "nurse = { type = 'identifier' }\nsalary = { type = 'integer', low = 0, high = 9 }\n"
        with asking.app.state.path.open("a") as file:
            file.write(f"\n[tables.shifts]\nsource='payroll.parquet'\nunit='nurse'\n[tables.shifts.columns]\n{columns}")
        asking.app.state.desk.look()
    allotted = asking("GET", "/v1/me", as_=bob).json()["allotment"]

    assert {unit: cap["cap"] for unit, cap in allotted.items()} == dict.fromkeys(
        ("patient", "employee", "nurse"), "ApproxDP(epsilon=0.1, delta=1e-09)"
    )
    question = {"question": "SELECT COUNT(*) AS n FROM shifts"}
    explained = asking("POST", "/v1/explain", as_=bob, json=question | {"epsilon": "0.2"}).json()
    assert not explained["fits"]  # of a unit's cap of 2
    assert asking("POST", "/v1/explain", as_="analyst", json=question | {"epsilon": "0.2"}).json()["fits"]


def test_the_last_audit_that_was_done_is_shown(asking):
    records = asking.app.state.records
    for number, state in (("a1", "done"), ("a2", "running")):
        records.add_job(number, Order(kind="audit", principal="the steward", body={}), most=9)
        records.change_job(number, state=state, document={"rows": [{"mechanism": number}]})

    assert asking("GET", "/v1/audit", as_="auditor").json()["rows"] == [{"mechanism": "a1"}]
