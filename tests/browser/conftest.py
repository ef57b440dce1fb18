"""One service for the browser tests of a process, and visitors for each test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from tests.browser.browsing import Visitors, browser, site_file
from tests.service.conftest import file as file
from tests.service.conftest import served as served
from tests.service.serving import Service, serving

_NUMBERS = count(1)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A running service with its console."""
    with serving(site_file(tmp_path_factory.mktemp("site"))) as service:
        yield service


@pytest.fixture
def name() -> str:
    """A person whom no other test knows."""
    return f"visitor {next(_NUMBERS)}"


@pytest.fixture
def visitors(site: Service) -> Iterator[Visitors]:
    """Browser profiles before the site; at the end nothing may have gone wrong in them."""
    with browser() as started:
        found = Visitors(started, site.url)
        yield found

        assert found.settled() == []
