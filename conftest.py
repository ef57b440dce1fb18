"""Every test and doctest draws the noise of its own name, so that a run never flakes.

The one generator behind all noise is keyed from the test's id instead of the operating system.
Tests of the generator itself say `@pytest.mark.system_entropy` and get the real one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from itertools import count

import pytest

# Two workers with two threads of linear algebra each wait for one another: small matrices took a hundred times longer.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def _noise_of_its_name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from discreet.hazmat.entropy import system

    generator = system()
    if request.node.get_closest_marker("system_entropy"):
        yield
        return
    home, block = os.getpid(), count()

    def key() -> bytes:
        child = "" if os.getpid() == home else str(os.getpid())  # a forked child draws its own
        return hashlib.sha384(f"{request.node.nodeid}/{child}/{next(block)}".encode()).digest()

    monkeypatch.setattr(generator, "_key", key)
    generator._forget()
    yield
    generator._forget()  # what was drawn under the test's keys is not handed out after it
