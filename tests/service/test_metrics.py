"""What an operator sees of overruns, turned-away orders, the line and jobs: on the page that Prometheus reads."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.service import metrics
from discreet.service.running.outcome import Answered, Order, Outcome, Withheld
from discreet.service.running.runner import Runner
from tests.service.children import House, question, settings, written
from tests.service.conftest import hospital, opened


def counted(name: str, **labels: str) -> float:
    """One number of the page."""
    given = "{" + ",".join(f'{key}="{value}"' for key, value in labels.items()) + "}" if labels else ""
    page = metrics.exposition()[0].decode()
    found = re.search(rf"^{re.escape(name + given)} (\S+)$", page, re.MULTILINE)
    return 0.0 if found is None else float(found[1])


@pytest.mark.parametrize(("fault", "overruns"), [("sleep", 1), ("error", 0), ("brief", 0)])
def test_an_overrun_is_counted_and_another_failure_is_none(house: House, fault, overruns):
    before = counted("discreet_overruns_total")
    (found,) = house.all(question(f"ora after {fault}"))

    assert isinstance(found, Answered if fault == "brief" else Withheld)
    assert counted("discreet_overruns_total") == before + overruns


def test_an_order_that_is_turned_away_is_counted_and_the_line_is_shown(tmp_path):
    before = counted("discreet_turned_away_total")
    runner = Runner(written(tmp_path), settings(tmp_path / "curator.toml", queue=2))

    async def crowd() -> tuple[float, int]:
        runner._open = True  # and no child: everybody waits
        asks = [asyncio.ensure_future(runner.ask(question("eve", epsilon=f"0.{n}"))) for n in range(1, 7)]
        await asyncio.sleep(0.1)
        length = counted("discreet_line")
        await runner.stop()
        outcomes: list[Outcome] = await asyncio.gather(*asks)
        return length, len(outcomes)

    assert asyncio.run(crowd()) == (2, 6)
    assert counted("discreet_turned_away_total") == before + 4
    assert counted("discreet_line") == 0


def test_jobs_are_counted_by_how_they_ended(house: House):
    workload = {"marginals": 1, "columns": ["ward"]}
    bodies = {
        "answered": {"workload": workload, "budget": {"rho": "0.1"}, "mechanism": "IndependentNoise"},
        "refused": {"workload": {"marginals": "two"}, "epsilon": 1},
    }
    before = {outcome: counted("discreet_orders_total", kind="release", outcome=outcome) for outcome in bodies}

    async def all_of_them() -> None:
        for body in bodies.values():
            order = Order(kind="release", principal="pam", body={"table": "visits", **body})
            number = await house.runner.submit(order)
            while (job := house.runner.jobs.records.job(number)) is None or job.state in ("queued", "running"):
                await asyncio.sleep(0.05)

    house.call(all_of_them())
    after = {outcome: counted("discreet_orders_total", kind="release", outcome=outcome) for outcome in bodies}

    assert after == {outcome: count + 1 for outcome, count in before.items()}


def test_the_page_of_the_service_has_them_all(tmp_path):
    with opened(hospital(tmp_path, rows=50)) as served:
        page = served("GET", "/metrics", as_="auditor").text

    for name in ("discreet_overruns_total", "discreet_turned_away_total", "discreet_line"):
        assert f"# HELP {name} " in page
        assert re.search(rf"^{name} \d", page, re.MULTILINE)


WORKER = """
import sys
from discreet.service import metrics
metrics.line(int(sys.argv[1])); metrics.overrun()
sys.stdin.read()
"""


def test_lines_of_several_workers_add_up_and_a_killed_workers_is_forgotten(tmp_path):
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    command = [sys.executable, "-c", WORKER]
    pipe = subprocess.PIPE
    workers = [subprocess.Popen([*command, str(n)], env=environment, stdin=pipe) for n in (3, 4)]
    look = [sys.executable, "-c", "from discreet.service import metrics; print(metrics.exposition()[0].decode())"]

    def page() -> str:
        return subprocess.run(look, env=environment, capture_output=True, text=True, check=True).stdout

    try:
        while len(list(Path(tmp_path).glob("*.db"))) < 4:
            assert all(worker.poll() is None for worker in workers)
        both = page()
        workers[0].kill()
        workers[0].wait()
        one = page()
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()

    assert "discreet_line 7.0" in both
    assert "discreet_line 4.0" in one
    assert "discreet_overruns_total 2.0" in both
    assert "discreet_overruns_total 2.0" in one  # what was counted stays
