"""A small hospital with two tables, its file, and the service of it, spoken to in-process."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.service.app import create_app
from discreet.service.tokens import issue
from tests.service.children import house as house
from tests.service.children import unhurried as unhurried
from tests.service.inline import Inline

TOML = """\
ledger = "ledger.db"

[budget]
epsilon = "2"
delta = "1e-6"

[tables.visits]
source = "visits.parquet"
unit = "patient"
rows_per_unit = 2
groups_per_unit = 2

[tables.visits.columns]
patient = { type = "identifier" }
ward = { type = "categorical", values = ["cardiology", "oncology", "surgery"] }
age = { type = "integer", low = 0, high = 119 }
cost = { type = "real", low = 0, high = 5000, step = "0.01" }
readmitted = { type = "boolean" }

[tables.payroll]
source = "payroll.parquet"
unit = "employee"

[tables.payroll.columns]
employee = { type = "identifier" }
salary = { type = "integer", low = 0, high = 100000 }
"""

ROLES = ("steward", "analyst", "auditor")


def hospital(folder: Path, *, rows: int = 2_000, service: str = "") -> Path:
    """Write the data and curator.toml; returns the file."""
    chance = np.random.default_rng(3)
    visits = pa.table({
        "patient": np.arange(rows),
        "ward": chance.choice(["cardiology", "oncology"], rows, p=[0.7, 0.3]),
        "age": chance.integers(0, 100, rows),
        "cost": chance.gamma(2.0, 400.0, rows).clip(0, 5000).round(2),
        "readmitted": chance.random(rows) < 0.1,
    })  # fmt: skip
    pq.write_table(visits, folder / "visits.parquet")
    pq.write_table(pa.table({"employee": np.arange(50), "salary": np.arange(50) * 100}), folder / "payroll.parquet")
    file = folder / "curator.toml"
    file.write_text(TOML + service)
    return file


class Served:
    """An app spoken to in-process, on an event loop of its own, with a token for each role."""

    def __init__(self, app):
        self.app = app
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.tokens = {role: issue(app.state.store, principal=f"the {role}", role=role, days=1) for role in ROLES}
        only = {"principal": "ada", "role": "analyst", "days": 1, "datasets": ["visits"]}
        self.tokens["ada"] = issue(app.state.store, **only)

    def __call__(self, method, path, *, as_="steward", **given):
        """One request, as the holder of a token; `as_=None` sends none."""
        headers = {**given.pop("headers", {})}
        if as_ is not None:
            headers.setdefault("Authorization", f"Bearer {self.tokens.get(as_, as_)}")

        async def send():
            transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://discreet", timeout=120) as client:
                return await client.request(method, path, headers=headers, **given)

        return self.wait(send())

    def wait(self, work):
        """Run a coroutine on the loop of the app."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=120)

    def close(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=60)
        self._loop.close()


@contextmanager
def opened(file: Path, settings=None, *, running=False):
    """The service of a file, closed afterwards; with its children if it is `running`."""
    app = create_app(file, settings)
    served = Served(app)
    lifespan = app.router.lifespan_context(app) if running else None
    try:
        if lifespan is not None:
            served.wait(lifespan.__aenter__())
        yield served
    finally:
        if lifespan is not None:
            served.wait(lifespan.__aexit__(None, None, None))
        served.close()
        app.state.desk.close()
        app.state.store.close()


@pytest.fixture
def file(tmp_path):
    return hospital(tmp_path)


@pytest.fixture
def served(file):
    with opened(file) as found:
        yield found


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """The same for tests that leave no trace."""
    with opened(hospital(tmp_path_factory.mktemp("shared"))) as found:
        yield found


@pytest.fixture
def asking(request, tmp_path):
    """The service with a runner; a test may name the lines of [service]."""
    with opened(hospital(tmp_path, service=getattr(request, "param", ""))) as served:
        served.app.state.runner = Inline(served.app)
        yield served
