"""Jobs: what they make, what they cost, how they end, and how they go on after the process that ran them is gone."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from discreet.service.problems import Problem
from discreet.service.running.outcome import Answered, Order
from discreet.service.running.records import UNFINISHED, Job
from tests.service.children import House, settings, written

RHO = {"rho": "0.1"}
CHEAP = {"budget": RHO, "mechanism": "IndependentNoise"}  # nothing is simulated to choose it


def order(kind: str, principal: str, key: str | None = None, **body: object) -> Order:
    return Order(kind=kind, principal=principal, body={"table": "visits", **body}, key=key)


def ended(house: House, *orders: Order) -> list[Job]:
    """Submit jobs and wait until they are over."""

    async def all_of_them() -> list[Job]:
        numbers = [await house.runner.submit(one) for one in orders]
        return [await over(house, number) for number in numbers]

    return house.call(all_of_them())


async def over(house: House, number: str, *states: str) -> Job:
    """The job when it has come to an end, or to one of these states."""
    while True:
        job = house.runner.jobs.records.job(number)
        assert job is not None
        if job.state in states or (not states and job.state not in UNFINISHED):
            return job
        await asyncio.sleep(0.05)


def charges(house: House, principal: str) -> int:
    """How many spends of a principal the ledger has."""
    from discreet.ledger import Ledger

    with Ledger.open(house.file.with_name("ledger.db"), create=False, verify=False) as ledger:
        records = [entry.record for entry in ledger.entries()]
    return sum(one["kind"] == "spend" and one["analyst"] == principal for one in records)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory):
    """A runner with short ticks: jobs have no slots to keep to."""
    file = written(tmp_path_factory.mktemp("jobs"))
    made = House(file, settings(file, children=2, slot=0.2, margin=0.1, memory=1024))
    yield made
    made.close()


@pytest.fixture(scope="module")
def anns(shop: House) -> list[Job]:
    """What ann ordered: a release, synthetic data and a model.  Every worker that needs them makes them."""
    wards = {"marginals": 1, "columns": ["ward"]}
    return ended(
        shop,
        order("release", "ann", workload=wards, **CHEAP),
        order("synthesis", "ann", columns=["ward", "readmitted"], budget=RHO),
        order("fit", "ann", model="LogisticRegression", target="readmitted", columns=["age"], budget=RHO),
    )


def test_releases_models_and_synthetic_data_are_made_and_paid_once(shop, anns):
    jobs = anns

    assert [job.state for job in jobs] == ["done", "done", "done"]
    assert [sorted(job.files) for job in jobs] == [
        ["marginals.release", "release.csv", "release.parquet"],
        ["report.html", "synthetic.model"],
        ["fitted.model"],
    ]
    assert all(Path(place).stat().st_mode & 0o077 == 0 for job in jobs for place in job.files.values())
    assert charges(shop, "ann") == 3
    assert jobs[1].progress is not None
    assert jobs[1].progress["done"] == jobs[1].progress["total"]


def test_what_jobs_made_can_be_read_back_and_drawn_from(shop, anns):
    from discreet.learning.stored import load
    from discreet.release.release import Release

    release, synthesis, fit = shop.runner.jobs.records.jobs(principal="ann")[::-1]
    assert [job.id for job in anns] == [release.id, synthesis.id, fit.id]

    async def drawn(seed: int | None) -> bytes:
        place, found = await shop.runner.jobs.draw(synthesis, rows=20, seed=seed, form="csv")
        assert isinstance(found, Answered)
        body = place.read_bytes()
        place.unlink()
        return body

    first, again = shop.call(drawn(7)), shop.call(drawn(7))

    assert len(Release.load(release.files["marginals.release"]).answers) == 3
    assert load(fit.files["fitted.model"]).privacy()
    assert first == again
    assert first.count(b"\n") == 21
    assert charges(shop, "ann") == 3  # drawing is free


def test_a_job_that_cannot_be_is_refused_free(shop):
    bad = [
        order("release", "ben", workload={"marginals": "two"}, epsilon=1),
        order("fit", "ben", model="os.system", epsilon=1),
        order("fit", "ben", model="LogisticRegression", parameters={"nonsense": 1}, target="readmitted", budget=RHO),
        order("fit", "ben", model="NeuralNetwork", parameters={"checkpoint": "/x"}, target="readmitted", budget=RHO),
        order("synthesis", "ben", settings={"checkpoint": "/etc/passwd"}, budget=RHO),
        order("synthesis", "ben", settings={"table": "labs"}, budget=RHO),  # not the one that was authorised
        Order(kind="release", principal="ben", body={"table": "nowhere", "workload": {"marginals": 1}, "epsilon": 1}),
    ]
    jobs = ended(shop, *bad)

    assert [job.state for job in jobs] == ["refused"] * len(bad)
    assert all(job.problem and job.problem["status"] == 400 for job in jobs)
    assert charges(shop, "ben") == 0


def test_a_job_that_fails_after_the_spend_is_withheld_and_paid_for(shop):
    (job,) = ended(shop, order("release", "cyd after error", workload={"marginals": 1}, **CHEAP))

    assert job.state == "withheld"
    assert job.receipt is not None
    assert job.problem is not None
    assert "4711" not in str(job)
    assert charges(shop, "cyd after error") == 1


def test_a_cancelled_job_stays_paid_for(shop):
    async def cancelled() -> Job:
        body = order("release", "dan after sleep", workload={"marginals": 1}, **CHEAP)
        number = await shop.runner.submit(body)
        while True:
            job = await over(shop, number, "running", "refused")
            if job.receipt is not None:
                break
            await asyncio.sleep(0.05)
        await shop.runner.jobs.cancel(number)
        return await over(shop, number)

    job = shop.call(cancelled())

    assert job.state == "cancelled"
    assert charges(shop, "dan after sleep") == 1


def test_the_same_key_is_the_same_job_and_another_body_is_refused(shop):
    first = order("release", "eva", "k1", workload={"marginals": 1}, **CHEAP)

    async def twice() -> tuple[str, str]:
        return await shop.runner.submit(first), await shop.runner.submit(first)

    one, two = shop.call(twice())
    with pytest.raises(Problem) as refused:
        shop.call(shop.runner.submit(order("release", "eva", "k1", workload={"marginals": 2}, **CHEAP)))

    assert one == two
    assert refused.value.status == 409
    assert shop.call(over(shop, one)).state == "done"
    assert charges(shop, "eva") == 1


def test_jobs_go_on_after_the_server_was_killed_and_nobody_pays_twice(tmp_path):
    """One job sleeps after its spend, one stops between two rounds of its model; then every process is killed."""
    file = written(tmp_path)
    chosen = settings(file, children=4, slot=0.2, margin=0.1, memory=1024)
    first = House(file, chosen)

    async def begun() -> list[str]:
        numbers = [
            await first.runner.submit(order("release", "eve after sleep", workload={"marginals": 1}, **CHEAP)),
            await first.runner.submit(order("synthesis", "ida pause", columns=["ward", "age"], budget=RHO)),
        ]
        while not file.with_name("paused").exists() or (await over(first, numbers[0], "running")).receipt is None:
            await asyncio.sleep(0.05)
        return numbers

    numbers = first.call(begun())
    first.runner.jobs._open = False  # as if the whole server were gone: nothing is written down any more
    nursery = first.runner._nursery._process
    assert nursery is not None
    os.kill(nursery.pid, signal.SIGKILL)
    first.close()
    assert [first.runner.jobs.records.job(number).state for number in numbers] == ["running", "running"]

    second = House(file, chosen)
    try:
        slept, paused = (second.call(over(second, number)) for number in numbers)
    finally:
        second.close()

    assert (slept.state, paused.state) == ("withheld", "done")
    assert charges(second, "eve after sleep") == 1
    assert charges(second, "ida pause") == 1
