"""The house: locked dependencies, make targets, what CI runs, and a suite that does not shrink."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.house.repository import ROOT
from tests.scale import FULL

FLOOR = 4200  # collected tests; raise it as the suite grows
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def _locked(lock) -> dict[str, str]:
    """Each package of a lock with everything written about it."""
    text = re.sub(r"^#.*\n", "", lock.read_text(), flags=re.MULTILINE)
    return {entry.split("==")[0]: entry for entry in re.split(r"\n(?=\w)", text.strip())}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_every_package_is_locked_to_a_version_and_its_hashes(lock):
    form = re.compile(r"[\w.-]+==[\w.]+( \\\n    --hash=sha256:[0-9a-f]{64})+")

    assert [name for name, entry in _locked(lock).items() if not form.fullmatch(entry)] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_names_no_address(lock):
    assert re.findall(r"(?m)^\s*--(?!hash)\S+|://|^\s*-[a-z]\b", lock.read_text()) == []


@pytest.mark.parametrize(
    "name",
    ["Makefile", ".ci/run", ".pre-commit-config.yaml", "mkdocs.yml", "pyproject.toml"]
    + [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "scripts").glob("*.*"))],
)
def test_the_house_names_no_address(name):
    assert "://" not in (ROOT / name).read_text()


@pytest.mark.parametrize(
    ("extra", "lock"),
    [
        ("dev", "dev"),
        ("docs", "dev"),
        ("plot", "dev"),
        ("bench", "bench"),
        ("service", "service"),
        ("postgres", "service"),
    ],
)
def test_what_the_project_asks_for_is_locked(extra, lock):
    asked = PROJECT["project"]["dependencies"] * (lock != "bench") + PROJECT["project"]["optional-dependencies"][extra]
    names = {re.match(r"[\w.-]+", need)[0].lower() for need in asked} - {"discreet"}

    assert names - set(_locked(ROOT / f"requirements/{lock}.lock")) == set()


@pytest.mark.parametrize("target", ["setup", "demo", "test", "acceptance", "bench", "docs"])
def test_every_promised_target_sets_up_what_it_needs(target):
    plan = subprocess.run(["make", "--always-make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True)

    assert plan.returncode == 0, plan.stderr
    assert "scripts/setup.sh" in plan.stdout


def test_the_demo_is_the_command_and_writes_under_out():
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # as from a shell
    command = ["make", "--always-make", "--dry-run", "demo"]
    plan = subprocess.run(command, cwd=ROOT, env=outside, capture_output=True, text=True)

    assert plan.stdout.splitlines()[-1].endswith("/discreet demo out/demo")
    assert "discreet" in PROJECT["project"]["scripts"]


def test_the_demo_takes_less_than_a_minute(tmp_path):
    """A million visits.  Processor time of the whole run, which other work on the machine does not change."""
    before = os.times()
    run = subprocess.run(
        [str(Path(sys.executable).parent / "discreet"), "demo", "out/demo"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    after = os.times()

    assert "report: out/demo/report.html" in run.stdout
    assert (tmp_path / "out/demo/report.html").read_text().count("<svg") >= 5
    assert after.children_user + after.children_system - before.children_user - before.children_system < 60


def test_acceptance_times_the_samplers_too():
    plan = subprocess.run(["make", "--dry-run", "acceptance"], cwd=ROOT, capture_output=True, text=True)

    assert "benchmarks.sampler_timing" in plan.stdout


def test_every_layer_that_exists_must_exist():
    """A folder in parentheses may be missing; none of those that are there is."""
    (contract,) = PROJECT["tool"]["importlinter"]["contracts"]
    required = {name for line in contract["layers"] for name in line.split(" | ") if name[0] != "("}
    package = ROOT / "src/discreet"
    there = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}

    assert required == there - {"__init__"}


def test_ci_runs_make_test_and_nothing_else():
    lines = (ROOT / ".ci/run").read_text().splitlines()

    assert [line for line in lines if line and line[0] != "#"][-1] == "make test"
    assert (ROOT / ".ci/run").stat().st_mode & 0o111


def _setup_with(tmp_path, interpreter: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/setup.sh in an empty folder with a pretended Python."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/setup.sh").write_text((ROOT / "scripts/setup.sh").read_text())
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\n{interpreter}\n")
    fake.chmod(0o755)
    environment = {"PYTHON": str(fake), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        ["bash", "scripts/setup.sh"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )


def test_setup_refuses_an_old_python_and_says_what_to_do(tmp_path):
    run = _setup_with(tmp_path, 'test "$1" = -c && exit 1; echo Python 3.9.2')

    assert run.returncode == 1
    assert "need Python 3.11 or newer, got Python 3.9.2" in run.stderr
    assert "PYTHON=" in run.stderr


def test_setup_without_the_venv_module_says_what_to_install(tmp_path):
    run = _setup_with(tmp_path, 'test "$1" = -m && exit 1; exit 0')

    assert run.returncode == 1
    assert "apt install python3-venv" in run.stderr


def test_the_suite_has_not_shrunk(request):
    option = request.config.option
    whole = request.config.args == request.config.getini("testpaths")
    if FULL or not whole or option.keyword or option.markexpr or option.deselect:
        pytest.skip("only part of the suite was asked for")

    assert len(request.session.items) >= FLOOR


def test_warnings_are_errors():
    with pytest.raises(UserWarning):
        __import__("warnings").warn("a warning", stacklevel=1)


def test_the_package_and_the_project_agree_on_the_version():
    from importlib.metadata import version

    import discreet

    assert version("discreet") == discreet.__version__
    assert sys.version_info >= (3, 11)


def importers(needed: dict[str, str]) -> set[str]:
    """The modules that import from a test module which needs PyTorch, and is skipped as a whole without it."""
    needs = {
        name
        for name, text in needed.items()
        if re.search(r"\.test_\w+$", name) and re.search(r"(?m)^from tests\.arrays import", text)
    }
    return {name for name, text in needed.items() if needs & set(re.findall(r"(?m)^from (tests[\w.]+) import", text))}


def test_no_test_imports_one_that_is_skipped_without_pytorch():
    """It would fail to be collected there, and with it the whole run."""
    files = {".".join(p.relative_to(ROOT).with_suffix("").parts): p.read_text() for p in (ROOT / "tests").rglob("*.py")}
    twin = {"tests.learning.test_twin": "from tests.learning.test_neural_audit import World\n"}

    assert importers(files) == set()
    assert importers(files | twin) == set(twin)
