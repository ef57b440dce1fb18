"""deploy/: a backup that tells a rollback, a unit and an image that run what is pinned and no more."""

from __future__ import annotations

import configparser
import fcntl
import json
import re
import runpy
import shlex
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet import Curator
from discreet.cli import app
from discreet.curator.config import ledger
from discreet.errors import LedgerError
from discreet.ledger import Anchor
from discreet.privacy import PureDP
from discreet.service.settings import Settings
from discreet.service.store import open_store
from tests.house.repository import ROOT
from tests.service.conftest import hospital

DEPLOY = ROOT / "deploy"
SQL = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def backup():
    return runpy.run_path(str(DEPLOY / "backup.py"))["backup"]


def test_a_backup_of_a_ledger_in_use_is_whole_and_is_the_anchor(tmp_path, backup):
    file = hospital(tmp_path, rows=50)
    with Curator.open(file) as curator:
        curator.ask(SQL, epsilon=0.1)
        anchor = json.loads(backup(file, tmp_path / "kept"))  # while it is open
        last = curator.ledger.anchor()
    (folder,) = (tmp_path / "kept").iterdir()

    assert anchor == {"id": last.id, "hash": last.hash}
    assert folder.stat().st_mode & 0o077 == 0
    with ledger(folder / "curator.toml") as copy:
        assert copy.budget("patient").balance.spent.epsilon * 10 == 1


def test_a_copy_that_was_put_back_is_told_by_the_later_anchor_and_by_nothing_else(tmp_path, backup):
    file = hospital(tmp_path, rows=50)
    with Curator.open(file) as curator:
        curator.ask(SQL, epsilon=0.1)
    backup(file, tmp_path / "kept")
    with Curator.open(file) as curator:
        curator.ask(SQL, epsilon=0.2)
    later = json.loads(backup(file, tmp_path / "later"))
    (folder,) = (tmp_path / "kept").iterdir()
    with ledger(folder / "curator.toml", verify=False) as forgetful:
        forgetful.verify()  # the twin without an anchor sees nothing

        with pytest.raises(LedgerError):
            forgetful.verify(anchor=Anchor.read(json.dumps(later)))


def _unit(name):
    found = configparser.ConfigParser(strict=False, interpolation=None)
    found.optionxform = str
    found.read_string((DEPLOY / name).read_text())
    return found


def test_the_unit_verifies_before_it_serves_and_gains_no_rights():
    service = _unit("discreet.service")["Service"]

    assert "ledger verify" in service["ExecStartPre"]
    assert service["ExecStart"].split()[1] == "serve"
    for name, value in {
        "NoNewPrivileges": "true",
        "CapabilityBoundingSet": "",
        "ProtectSystem": "strict",
        "LimitCORE": "0",
        "UMask": "0077",
        "User": "discreet",
    }.items():
        assert service[name] == value


@pytest.mark.parametrize("line", ["ExecStartPre", "ExecStart"])
def test_what_the_unit_runs_are_commands_with_these_options(line):
    _, *words = shlex.split(_unit("discreet.service")["Service"][line])
    command = [word for word in words if not word.startswith(("-", "/"))]
    help = CliRunner().invoke(app, [*command, "--help"], terminal_width=200).stdout

    assert [word for word in words if word.startswith("--") and word not in help] == []


def _documented(*beginnings):
    """The lines of docs/deploy.md that begin with these words, in their order."""
    return [line for line in (ROOT / "docs/deploy.md").read_text().splitlines() if line.startswith(beginnings)]


def _here(command, folder):
    """A command of the page or the unit with folders of this test for those of the machine."""
    places = {
        "/var/lib/discreet-anchor": folder / "anchor",
        "/var/lib/discreet": folder / "state",
        "/var/backups/discreet": folder / "backups",
        "/opt/discreet/bin": Path(sys.executable).parent,
        "/opt/discreet/deploy": DEPLOY,
        "sudo -u discreet ": "",
    }
    for old, new in places.items():
        command = command.replace(old, str(new))
    return re.sub(r" -[og] \w+", "", command)  # nobody but root gives files away


def _ran(command, folder):
    return subprocess.run(
        ["bash", "-c", f"set -e -o pipefail; {_here(command, folder)}"], cwd=folder, capture_output=True, text=True
    )


def test_the_unit_starts_after_the_documented_install_and_not_before(tmp_path):
    verify = _unit("discreet.service")["Service"]["ExecStartPre"]
    copy = _unit("discreet-backup.service")["Service"]["ExecStart"]
    folders, (begin,) = _documented("install -d"), _documented("sudo -u discreet /opt/discreet/bin/python")
    for line in folders:
        assert _ran(line.partition("#")[0], tmp_path).returncode == 0
    hospital(tmp_path / "state", rows=50)

    assert "there is no ledger" in (early := _ran(verify, tmp_path)).stdout + early.stderr
    assert early.returncode == 1
    assert _ran(begin, tmp_path).returncode == 0
    assert _ran(verify, tmp_path).returncode == 0
    assert _ran(copy, tmp_path).returncode == 0
    anchor = (tmp_path / "anchor/anchor.json").read_text()
    assert _ran(begin, tmp_path).returncode == 1  # once
    assert (tmp_path / "anchor/anchor.json").read_text() == anchor
    for file in (tmp_path / "state").glob("ledger.db*"):
        file.unlink()
    assert _ran(verify, tmp_path).returncode == 1
    Curator.open(tmp_path / "state/curator.toml").close()  # the twin that makes a ledger where one was lost
    assert _ran(verify, tmp_path).returncode == 1  # is told by the anchor of the first day


def test_a_ledger_is_begun_once_and_never_beside_records_of_a_service(tmp_path):
    begin = runpy.run_path(str(DEPLOY / "begin.py"))["begin"]
    file = hospital(tmp_path, rows=50)
    anchor = json.loads(begin(file))
    with ledger(file) as found:
        assert Anchor(**anchor) == found.anchor()
        assert sorted(found.units()) == ["employee", "patient"]

    with pytest.raises(SystemExit, match="there is a ledger"):
        begin(file)
    for left in tmp_path.glob("ledger.db*"):
        left.unlink()
    with open_store(Settings.read(file)):
        pass
    with pytest.raises(SystemExit, match="was it lost"):
        begin(file)
    assert not (tmp_path / "ledger.db").exists()
    (tmp_path / "other").mkdir()
    broken = hospital(tmp_path / "other", rows=50)
    broken.write_text(broken.read_text().replace("high = 119", 'high = ""'))
    with pytest.raises(SystemExit, match=r"age\.high"):
        begin(broken)


def test_every_folder_that_the_units_name_is_made_by_the_documented_install():
    text = (DEPLOY / "discreet.service").read_text() + (DEPLOY / "discreet-backup.service").read_text()
    named = set(re.findall(r"/var/[\w/-]+\w", re.sub(r"(?m)^#.*", "", text)))
    made = set(re.findall(r"/var/\S+\w", " ".join(_documented("install -d"))))

    assert made
    assert {place for place in named if not any(place == one or place.startswith(f"{one}/") for one in made)} == set()


class Interrupted(sqlite3.Connection):
    """A connection that is told when a database has been copied."""

    done = staticmethod(lambda: None)

    def backup(self, target, **given):
        super().backup(target, **given)
        Interrupted.done()


def test_a_reply_in_a_backup_has_its_charge_in_the_backup(tmp_path, backup, monkeypatch):
    """Somebody asks while the copy is made; the twin that copies the ledger first has an answer without its charge."""
    file = hospital(tmp_path, rows=50)
    Curator.open(file).close()
    with open_store(Settings.read(file)):
        pass
    copied = []

    def between():
        """After each database: a charge in the ledger, and then its reply in the records, as a child does it."""
        copied.append(1)
        with ledger(file) as book, sqlite3.connect(tmp_path / "service.db") as records:
            paid = book.spend(PureDP(0.01), unit="patient", tables=["visits"], key=f"k{len(copied)}")
            records.execute("CREATE TABLE IF NOT EXISTS replies (charge INTEGER)")
            records.execute("INSERT INTO replies VALUES (?)", [paid.id])

    connect = sqlite3.connect
    monkeypatch.setattr(Interrupted, "done", staticmethod(between))
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: connect(*given, **{"factory": Interrupted} | more))
    between()
    last = json.loads(backup(file, tmp_path / "kept"))
    (folder,) = (tmp_path / "kept").iterdir()
    with connect(folder / "service.db") as kept:
        charges = [row[0] for row in kept.execute("SELECT charge FROM replies")]

    assert len(copied) == 3
    assert charges
    assert max(charges) < last["id"]  # and one charge, the one in between, without its reply


def test_a_cap_is_not_raised_between_the_file_and_the_ledger_of_a_backup(tmp_path, backup, monkeypatch):
    file = hospital(tmp_path, rows=50)
    Curator.open(file).close()
    held = []

    def looked():
        with (tmp_path / ".curator.toml.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held.append(1)

    connect = sqlite3.connect
    monkeypatch.setattr(Interrupted, "done", staticmethod(looked))
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: connect(*given, **{"factory": Interrupted} | more))
    backup(file, tmp_path / "kept")

    assert held == [1]


def _copied(text):
    """What the image copies from the checkout."""
    lines = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE)
    return [word for line in lines for word in line.split()]


def test_the_wheel_is_built_from_what_the_image_copies(tmp_path):
    for name in _copied((DEPLOY / "Containerfile").read_text()):
        place = ROOT / name
        if place.is_dir():
            shutil.copytree(place, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc"))
        else:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            shutil.copy(place, tmp_path / name)
    command = ["-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "-w", "dist", "."]
    run = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, timeout=300)

    assert run.returncode == 0, run.stderr
    (wheel,) = (tmp_path / "dist").glob("discreet-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    kept = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/discreet/service").rglob("*.*")}
    assert {name for name in kept if "__pycache__" not in name} <= names


ALONE = """
import sys
from importlib.metadata import packages_distributions

allowed, seen = set(sys.argv[2].split(",")), set()

class Only:
    def find_spec(self, name, path=None, target=None):
        owners = [owner.lower().replace("_", "-").replace(".", "-") for owner in OWNERS.get(name.partition(".")[0], [])]
        if owners and not allowed.intersection(owners) and "discreet" not in owners:
            seen.add(name)
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

OWNERS = packages_distributions()
sys.meta_path.insert(0, Only())
import discreet, discreet.cli, discreet.service.serve, discreet.service.running.work, discreet.service.console.picture
import altair, vl_convert
from discreet.service.app import create_app
app = create_app(sys.argv[1])
app.openapi()
curator = app.state.desk.curator
curator.ask("SELECT ward, AVG(cost) AS c FROM visits GROUP BY ward", epsilon=0.1)
curator.synthesize(table="visits", columns=["ward", "readmitted"], budget=discreet.ZCDP(0.005))
print("served without", *sorted(seen))
"""


def test_the_service_runs_with_the_packages_of_its_lock_and_no_others(tmp_path):
    lock = (ROOT / "requirements/service.lock").read_text()
    allowed = ",".join(re.findall(r"^([\w.-]+)==", lock, re.MULTILINE))
    command = [sys.executable, "-c", ALONE, str(hospital(tmp_path, rows=200)), allowed]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert run.returncode == 0, run.stderr
    assert "served without" in run.stdout
    missing = subprocess.run(
        [*command[:-1], allowed.replace("duckdb,", "")], capture_output=True, text=True, timeout=300
    )
    assert "No module named 'duckdb'" in missing.stderr  # the twin whose lock lacks one


@pytest.mark.parametrize("where", ["deploy/Containerfile", "docs/deploy.md"])
def test_what_is_installed_is_pinned_by_hashes_and_the_package_is_the_checkout(where):
    text = (ROOT / where).read_text()
    installed = re.findall(r"pip (?:install|wheel) .*", text)

    assert "--require-hashes --no-deps -r requirements/service.lock" in text
    assert "dev.lock" not in "".join(installed)
    for line in installed:
        assert "--require-hashes --no-deps" in line or "--no-deps --no-index dist/" in line or "wheel" in line
    assert any(re.search(r"wheel .*--no-deps --no-build-isolation --wheel-dir dist \.", line) for line in installed)


def test_the_image_holds_no_secret_and_runs_as_nobody_in_particular():
    text = (DEPLOY / "Containerfile").read_text()

    assert re.search(r"^USER 10001:10001$", text, re.MULTILINE)
    assert not re.search(r"dct_|password|secret", text, re.IGNORECASE)
    assert set(_copied(text)) == {
        "requirements/build.lock", "requirements/service.lock", "pyproject.toml", "README.md", "LICENSE",
        "src", "benchmarks", "deploy/begin.py", "deploy/backup.py",
    }  # fmt: skip
