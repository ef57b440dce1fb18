"""Commands as a test types them."""

from __future__ import annotations

import sys
from unittest import mock

from typer.testing import CliRunner

from discreet.cli import app, main

SQL = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
DECLARATION = """
patient = { type = "identifier" }
ward = { type = "categorical", values = ["cardiology", "oncology", "surgery"] }
age = { type = "integer", low = 0, high = 119 }
cost = { type = "real", low = 0, high = 5000, step = "0.01" }
readmitted = { type = "boolean" }
"""


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def init(*words):
    return run("init", "visits.parquet", "--unit", "patient", "--epsilon", "1", "--delta", "1e-6", *words)


def typed(*words) -> int:
    """The exit code of the installed command; what it prints is for `capsys`, and an error nobody foresaw is raised."""
    with mock.patch.object(sys, "argv", ["discreet", *map(str, words)]):
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0)
    return 0
