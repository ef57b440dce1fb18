"""discreet.service.client_jobs: order, watch, fetch; each way in which a job may end."""

from __future__ import annotations

import pytest

from discreet.errors import DomainError, ServiceError
from discreet.service import client_jobs
from discreet.service.client_orders import model_body, settings_body, workload_body


class Wire:
    """A service with one job, which tells one state after another."""

    def __init__(self, *states):
        self.states, self.posted, self.fetched, self.waits = list(states), [], [], []

    def post(self, path, body, *, key):
        self.posted.append((path, body, key))
        return self.states.pop(0)

    def get(self, path):
        assert path == "/v1/jobs/a%2Fb"
        return self._next()

    def fetch(self, path, accept, **query):
        self.fetched.append((path, accept, query))
        return self._next() if self.states else b"bytes"

    def _next(self):
        state = self.states.pop(0)
        if isinstance(state, Exception):
            raise state
        return state


def _job(state, **more):
    return {
        "id": "a/b",
        "state": state,
        "progress": {"done": 1, "total": 4, "label": "rounds"},
        "problem": None,
        **more,
    }


def _run(wire, **given):
    return client_jobs.run(wire, {"kind": "synthesis"}, key="k", wait=wire.waits.append, **given)


@pytest.mark.parametrize("progress", [True, False, None])
def test_a_job_is_watched_to_its_end(progress):
    wire = Wire(_job("queued"), _job("running"), _job("running", progress=None), _job("done", receipt={"id": 1}))
    job = _run(wire, progress=progress)

    assert job["receipt"] == {"id": 1}
    assert wire.posted == [("/v1/jobs", {"kind": "synthesis"}, "k")]
    assert len(wire.waits) == 3
    assert wire.waits == sorted(wire.waits)


def test_a_job_that_is_done_at_once_is_not_waited_for():
    wire = Wire(_job("done"))

    assert _run(wire)["state"] == "done"
    assert wire.waits == []


def test_looks_become_rarer_and_stay_frequent_enough():
    wire = Wire(*[_job("running")] * 40, _job("done"))
    _run(wire, progress=False)

    assert max(wire.waits) == client_jobs.SLOWEST


@pytest.mark.parametrize(
    ("state", "kind", "charged"), [("withheld", "withheld", True), ("cancelled", "cancelled", None)]
)
def test_what_was_not_made_is_told(state, kind, charged):
    with pytest.raises(ServiceError) as caught:
        _run(Wire(_job("running"), _job(state)), progress=False)
    assert (caught.value.kind, caught.value.charged) == (kind, charged)


def test_a_cancelled_job_that_has_a_receipt_was_charged():
    with pytest.raises(ServiceError, match="job a/b was cancelled") as caught:
        _run(Wire(_job("running"), _job("cancelled", receipt=PAID)), progress=False)
    assert caught.value.charged is True


PAID = {"id": 7, "hash": "00", "replayed": False}
LOST = ServiceError(
    "no reply from here: ReadError", kind="unreachable", charged=False
)  # of a GET, which spends nothing
ENDED = ServiceError("the token has expired", kind="unauthenticated", status=401, charged=False)


@pytest.mark.parametrize("error", [LOST, ENDED])
@pytest.mark.parametrize(
    ("receipt", "charged"), [(None, None), (PAID, True), ({"id": 7, "hash": "00", "replayed": True}, None)]
)
def test_a_job_that_cannot_be_looked_at_is_not_called_free(error, receipt, charged):
    with pytest.raises(ServiceError, match=r"; job a/b was ordered, .* order the same again") as caught:
        _run(Wire(_job("queued"), _job("running", receipt=receipt), error), progress=False)
    assert (caught.value.kind, caught.value.status) == (error.kind, error.status)
    assert caught.value.charged is charged
    assert str(error) in str(caught.value)


def test_a_result_that_cannot_be_fetched_stays_paid_for():
    with pytest.raises(ServiceError, match="job a/b was ordered") as caught:
        client_jobs.result(Wire(LOST), _job("done", receipt=PAID), "marginals.release")
    assert caught.value.charged is True


def test_a_function_is_told_of_progress_once_for_each_step(capsys):
    told = []
    steps = [{"done": done, "total": 4, "label": "measuring"} for done in (1, 1, 3, 4)]
    wire = Wire(
        _job("queued", progress=None), *[_job("running", progress=step) for step in steps], _job("done", progress=None)
    )
    _run(wire, progress=lambda *numbers: told.append(numbers))

    assert told == [(1, 4), (3, 4), (4, 4)]
    assert capsys.readouterr().err == ""


def test_a_refusal_is_the_curators_error():
    problem = {"type": "urn:discreet:problem:domain", "detail": "no column 'agee' in 'visits'"}

    with pytest.raises(DomainError, match="agee"):
        _run(Wire(_job("refused", problem=problem)))


def test_an_order_that_waits_for_approval_is_no_job_yet():
    with pytest.raises(ServiceError, match="approval 7"):
        _run(Wire({"approval": 7, "state": "waiting"}))


def test_a_file_is_fetched_by_its_name():
    wire = Wire()

    assert client_jobs.result(wire, _job("done"), "marginals.release") == b"bytes"
    assert wire.fetched == [("/v1/jobs/a%2Fb/result", client_jobs.BYTES, {"file": "marginals.release"})]


def test_models_and_workloads_cross_by_name_and_number_only():
    from discreet.data import Boolean, Domain, Integer
    from discreet.errors import ParameterError, UnsupportedError
    from discreet.learning import KMeans, LogisticRegression
    from discreet.privacy import PureDP
    from discreet.queries import marginals, ranges, thresholds

    people = Domain({"age": Integer(0, 9), "icu": Boolean()})

    assert workload_body(marginals(people, 2)) == {"marginals": 2, "columns": ["age", "icu"]}
    assert workload_body(thresholds(people.project(["age"]))) == {"thresholds": "age"}
    for other in (ranges(people.project(["age"])), 2 * marginals(people, 1)):
        with pytest.raises(UnsupportedError):
            workload_body(other)
    assert model_body(KMeans(n_clusters=3)) == {"model": "KMeans", "parameters": {"n_clusters": 3}}
    with pytest.raises(ParameterError, match="budget"):
        model_body(LogisticRegression(budget=PureDP(1)))
    with pytest.raises(UnsupportedError, match="zeros"):
        settings_body({"rounds": 3, "zeros": {("age", "icu"): object()}})
