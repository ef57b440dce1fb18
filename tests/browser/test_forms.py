"""discreet.service.console.forms: every form becomes a body that the API takes, and half a form is refused."""

from __future__ import annotations

import json
from itertools import product

import pytest

from discreet.curator.audits.finding import Finding
from discreet.service.console import datasets, forms, orders, steward
from discreet.service.console.api import Declined
from discreet.service.console.page import templates
from discreet.service.routes.caps import Cap
from discreet.service.routes.datasets import Declaration
from discreet.service.routes.jobs import JobOrder
from discreet.service.routes.tokens import Wanted
from discreet.service.wire import Ask, Explain

PRICES = [{"currency": "epsilon", "amount": "0.1"}, {"currency": "rho", "amount": "0.005"},
          {"currency": "approx", "amount": "0.5", "delta": "1e-9"},
          {"currency": "approx", "amount": "0.5"}]  # fmt: skip
QUESTION = {"question": "SELECT COUNT(*) FROM visits", "rows_per_unit": "2", "groups_per_unit": ""}
ORDERS = [
    {"kind": "synthesis", "table": "visits", "columns": "ward, age", "method": "adaptive"},
    {"kind": "synthesis", "table": "visits"},
    {"kind": "release", "table": "visits", "workload": "marginals", "ways": "2", "columns": "ward age cost"},
    {"kind": "release", "table": "visits", "workload": "thresholds", "columns": "age"},
    {"kind": "release", "table": "visits", "workload": "counts", "columns": "ward readmitted"},
    {"kind": "fit", "table": "visits", "model": "NaiveBayes", "target": "readmitted", "parameters": '{"bins": 4}'},
]
TABLE = {"name": "visits", "source": "visits.parquet", "unit": "patient", "rows_per_unit": "3", "n": "", "version": "1",
         "columns": 'patient = { type = "identifier" }'}  # fmt: skip
CAP = {"scope": "analyst", "name": "ada", "unit": "patient", "reason": "the pilot"}
TOKEN = {"principal": "ada", "role": "analyst", "days": "30", "datasets": "visits"}

DEEP = "[" * 100_000


@pytest.mark.parametrize("paid", PRICES, ids=lambda paid: paid["currency"])
def test_questions_orders_caps_and_tokens_are_in_the_words_of_the_api(paid):
    assert Ask(**forms.question({**QUESTION, **paid})).price()
    assert Explain(**forms.question({**QUESTION, **paid})).wanted()
    for order in ORDERS:
        assert JobOrder(**orders.order({**order, **paid})).order()
    assert Cap(**steward.cap({**CAP, **paid})).budget.guarantee()
    assert Wanted(**steward.token({**TOKEN, **paid})).allotment.guarantee()


def test_a_table_a_token_without_allotment_and_a_wanted_error_are_too():
    assert Declaration(**steward.declaration(TABLE)).rows_per_unit == 3
    assert Declaration(**steward.declaration({**TABLE, "unit": "", "public": "yes"})).public
    assert Wanted(**steward.token(TOKEN)).allotment is None
    assert Explain(**forms.question({**QUESTION, "currency": "error", "amount": "25"})).wanted() == {"error": 25.0}


@pytest.mark.parametrize(
    ("reading", "form", "changes"),
    [
        (forms.question, {**QUESTION, **PRICES[0]},
         [{"question": " "}, {"amount": ""}, {"currency": "gold"}, {"rows_per_unit": "two"},
          *({"currency": "error", "amount": amount} for amount in ("x", "nan", "inf", "-inf", "1e400")),
          {"body": "[]"}, {"body": "["}, {"body": DEEP}]),
        (orders.order, {**ORDERS[0], **PRICES[0]}, [{"kind": "miracle"}, {"table": ""}, {"currency": "error"}]),
        (orders.order, {**ORDERS[2], **PRICES[0]},
         [{"ways": "few"}, {"workload": "thresholds"}, {"workload": "counts", "columns": ""}, {"workload": "all"}]),
        (orders.order, {**ORDERS[5], **PRICES[0]}, [{"model": ""}, {"parameters": "4"}, {"parameters": "{"},
          {"parameters": DEEP}]),
        (steward.declaration, TABLE,
         [{"name": ""}, {"source": ""}, {"columns": ""}, {"columns": "age ="}, {"n": "many"},
          {"columns": f"a = {DEEP}"}, {"columns": f"a = {'9' * 5000}"}]),
        (steward.cap, {**CAP, **PRICES[0]}, [{"name": ""}, {"reason": ""}, {"amount": ""}, {"currency": "error"}]),
        (steward.token, TOKEN, [{"principal": ""}, {"days": "soon"}]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_half_a_form_is_refused_before_anything_is_sent(reading, form, changes):
    assert reading(form)
    for change in changes:
        with pytest.raises(Declined) as refused:
            reading({**form, **change})

        assert (refused.value.status, refused.value.slug) == (400, "parameter"), change


def test_columns_whose_names_have_blanks_can_be_ordered():
    """The twin that splits at blanks orders columns that there are not."""
    given = {**ORDERS[0], **PRICES[0]}
    for written in ("length of stay, ward", '"length of stay" ward', ' "length of stay" , "ward",'):
        assert orders.order({**given, "columns": written})["columns"] == ["length of stay", "ward"], written
    assert orders.order({**given, "columns": '"a, b"'})["columns"] == ["a, b"]
    assert steward.token({**TOKEN, "datasets": '"two words"'})["datasets"] == ["two words"]
    assert datasets.first_question("two words", {"a b": {"type": "boolean"}}).startswith('SELECT "a b", COUNT(*)')


def test_an_order_that_was_approved_is_sent_as_it_was():
    kept = {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.5, "beta": 0.01, "fresh": True}
    form = forms.filled(kept)

    assert forms.question({**form, "body": json.dumps(kept)}) == kept
    assert forms.question(form) != kept  # the fields alone would be another request, which nobody approved
    assert orders.order({"body": json.dumps({"kind": "fit"})}) == {"kind": "fit"}


@pytest.mark.parametrize("paid", PRICES, ids=lambda paid: paid["currency"])
def test_a_body_fills_in_the_form_that_it_came_from(paid):
    body = forms.question({**QUESTION, **paid})

    assert forms.question(forms.filled(body)) == body


@pytest.mark.parametrize(("violated", "role"), list(product([False, True], ["steward", "auditor"])))
def test_the_audit_page_says_whether_every_claim_holds(violated, role):
    found = Finding(
        name="Laplace", room="mechanisms", unit="epsilon", pairs=1, inputs="0, 1", claimed=1.0, delta=0.0, exact=None,
        bound=0.9, samples=1000, twin=None, twin_bound=None, power=None, violated=violated, seconds=1.0,
    )  # fmt: skip
    shown = {"me": {"role": role, "principal": "ada"}, "csrf": "", "here": "/audit", "done": None, "problem": None}
    made = {"made": "2026-11-16T21:00:00Z"}
    page = templates().get_template("audit.html").render(audit=made, rows=[found.row()], key="k", **shown)

    assert ("1 of 1 claims do not hold" in page) is violated
    assert ("All 1 claims hold" in page) is not violated
    assert ("Run an audit" in page) is (role == "steward")
