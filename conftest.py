"""Every test and doctest draws the noise of its own name, so that a run never flakes.

The one generator behind all noise is keyed from the test's id instead of the operating system, and so is `SeededRandom`
wherever a run has a key.  `make acceptance` has a fresh one each time: it prints it, and shows it with every failure;
DISCREET_NOISE=key gives the same draws again.  `make test` has none, unless that variable is set.
Tests of the generator itself say `@pytest.mark.system_entropy` and get the real one.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from itertools import count

import pytest

# Two workers with two threads of linear algebra each wait for one another: small matrices took a hundred times longer.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

pytest_plugins = ["tests.not_run"]

if os.environ.get("DISCREET_ACCEPTANCE") == "1":
    os.environ.setdefault("DISCREET_NOISE", secrets.token_hex(8))  # workers are started later, and find it there
KEY = os.environ.get("DISCREET_NOISE", "")
SAID = f"the noise of this run has the key {KEY}; DISCREET_NOISE={KEY} draws it again"


def pytest_configure(config: pytest.Config) -> None:
    """The examples of hypothesis follow the key too, where they are not derived from the test itself."""
    if KEY:
        config.option.hypothesis_seed = str(int.from_bytes(hashlib.sha256(KEY.encode()).digest()[:8], "big"))


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Say the key, however quiet the run is."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if KEY and reporter is not None and not hasattr(session.config, "workerinput"):
        reporter.write_line(SAID)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A failure shows the key that it needs."""
    report = yield
    if KEY and report.failed:
        report.sections.append(("noise", SAID))
    return report


@pytest.fixture(autouse=True)
def _noise_of_its_name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from discreet.hazmat.entropy import SeededRandom, system

    generator = system()
    if request.node.get_closest_marker("system_entropy"):
        yield
        return
    home, block = os.getpid(), count()
    name = f"{KEY}/{request.node.nodeid}" if KEY else request.node.nodeid

    def key() -> bytes:
        child = "" if os.getpid() == home else str(os.getpid())  # a forked child draws its own
        return hashlib.sha384(f"{name}/{child}/{next(block)}".encode()).digest()

    def seeded(random: SeededRandom) -> bytes:
        random._block += 1
        return hashlib.sha384(f"{KEY}/seeded/{random._seed}/{random._block}".encode()).digest()

    monkeypatch.setattr(generator, "_key", key)
    if KEY:
        monkeypatch.setattr(SeededRandom, "_key", seeded)
    generator._forget()
    yield
    generator._forget()  # what was drawn under the test's keys is not handed out after it
