"""The runs themselves: full runs draw anew and show their key; what was not run is counted, and fails whole runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from tests.house.repository import ROOT

DRAWS = """
from discreet.hazmat.entropy import SeededRandom, source
import pytest

@pytest.mark.parametrize("i", range(2))
def test_draws(i):
    print("DRAWN", i, source(None).bits(64), SeededRandom(1).bits(64))
    assert i < 0

def test_is_fine():
    pass
"""
NEEDS = """
from tests.arrays import torch
torch.set_num_threads(1)

def test_one(): pass
def test_two(): pass
"""


def run(folder, *more, hidden=(), **settings):
    """pytest on a folder of its own, with the conftest of this one."""
    (folder / "conftest.py").write_text("".join(f"import sys; sys.modules[{name!r}] = None\n" for name in hidden))
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("DISCREET_", "PYTEST_"))} | settings
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # of the plugins only these: a run takes half a second
    command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-p", "conftest", "--rootdir", folder]
    return subprocess.run(
        [*command, *more, folder], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def drawn(made):
    return sorted(re.findall(r"DRAWN .*", made.stdout))


def test_full_runs_draw_anew_show_their_key_and_can_be_drawn_again(tmp_path):
    (tmp_path / "test_draws.py").write_text(DRAWS)
    first = run(tmp_path, "-n2", DISCREET_ACCEPTANCE="1")
    (key,) = set(re.findall(r"DISCREET_NOISE=(\w+)", first.stdout))
    second = run(tmp_path, DISCREET_ACCEPTANCE="1")
    again = run(tmp_path, DISCREET_ACCEPTANCE="1", DISCREET_NOISE=key)

    assert len(drawn(first)) == 2
    assert first.stdout.index(key) < first.stdout.index("DRAWN")  # at the start, and with every failure
    assert first.stdout.count(f"has the key {key}") == 3
    assert not set(drawn(first)) & set(drawn(second))
    assert drawn(first) == drawn(again)


def test_quick_runs_draw_the_same_and_say_nothing_of_keys(tmp_path):
    (tmp_path / "test_draws.py").write_text(DRAWS)
    first, second = run(tmp_path), run(tmp_path)

    assert len(drawn(first)) == 2
    assert drawn(first) == drawn(second)
    assert "DISCREET_NOISE" not in first.stdout


def test_modules_that_are_skipped_are_counted_by_their_functions_and_fail_a_whole_run(tmp_path):
    for name in ("test_first.py", "test_second.py"):
        (tmp_path / name).write_text(NEEDS)
    (tmp_path / "test_draws.py").write_text("def test_is_fine(): pass\n")
    part = run(tmp_path, hidden=["torch"])
    whole = run(tmp_path, "-n2", hidden=["torch"], DISCREET_WHOLE="1")

    assert part.returncode == 0
    assert whole.returncode == 1
    for made in (part, whole):
        assert "4 test functions were not run" in made.stdout
        assert all(
            f"   2 {name}: Skipped: PyTorch is NOT" in made.stdout for name in ("test_first.py", "test_second.py")
        )


def test_a_whole_run_may_leave_out_what_no_lock_holds(tmp_path):
    (tmp_path / "test_peer.py").write_text(
        "import pytest\ndef test_fine(): pass\ndef test_peer(): pytest.importorskip('prv_accountant')\n"
    )
    made = run(tmp_path, DISCREET_WHOLE="1", hidden=["prv_accountant"])

    assert made.returncode == 0
    assert "1 test functions were not run" in made.stdout
