"""Power loss: a file that a call has returned from is there, whole; while it is replaced, the old or the new one."""

from __future__ import annotations

import ast
import random
import re

import pytest

from discreet.ledger import Ledger
from tests.faults.disk import Disk, need_strace, strace
from tests.faults.processes import run
from tests.faults.writers import TWINS, WRITERS
from tests.house.repository import PACKAGE, ROOT, modules, syntax
from tests.scale import counts

RELEASED = re.compile(rb"released (\S+)\n")
TOUCHES = ("write", "pwrite64", "fsync", "fdatasync", "rename", "renameat2", "link", "linkat", "unlink", "unlinkat")
MOVES = {"rename", "replace", "renames", "link"}  # what gives a file another name


@pytest.fixture(autouse=True, scope="module")
def _strace():
    need_strace()


@pytest.fixture(scope="module", params=["", *TWINS])
def torn(request, tmp_path_factory):
    """Whether syncs were left out, and the writers whose files a power cut left as they should not be."""
    twin, tmp_path = request.param, tmp_path_factory.mktemp("power")
    folder, log = tmp_path / "disk", tmp_path / "log"
    folder.mkdir()
    said = run("writers", "write", folder, *([twin] if twin else []), before=strace(log))
    wrong = set(_wrong(tmp_path, folder, log))
    return twin, {name for name, files in said.items() if wrong & set(files)}, set(said)


def _wrong(tmp_path, folder, log) -> list[str]:
    """The names of files that a power cut, at any point, left neither as they were promised nor as they came to be."""
    promised = _promised(folder, log)
    chance, held, wrong = random.Random(1), {}, []
    for call in (disk := Disk(folder)).replay(log):
        left = RELEASED.fullmatch(call.texts[0]) if call.name == "write" and call.texts else None
        if left:
            path = left[1].decode()
            held[path] = promised[path].pop(0)
        if not left and call.name not in TOUCHES:
            continue
        for how in (None, *[chance] * counts(quick=2, full=20)):
            disk.cut(tmp_path / "cut", chance=how)
            for path, content in held.items():
                found = tmp_path / "cut" / path
                there = _seen(found) if found.exists() else None
                if there not in (content, *promised[path][:1]):
                    wrong.append(path)
    return wrong


def _promised(folder, log) -> dict[str, list[object]]:
    """What each file held whenever it was said that it may be relied on."""
    found: dict[str, list[object]] = {}
    for call in (disk := Disk(folder)).replay(log):
        left = RELEASED.fullmatch(call.texts[0]) if call.name == "write" and call.texts else None
        if left:
            path = left[1].decode()
            file = folder.parent / "seen" / path
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(disk.names[str(folder / path)].now())
            found.setdefault(path, []).append(_seen(file))
            file.unlink()
    return found


def _seen(file) -> object:
    """The bytes; of a ledger what it says, or that it is none."""
    if file.suffix != ".db":
        return file.read_bytes()
    with Ledger.open(file, create=False) as ledger:
        return ledger.anchor()


def test_what_was_written_is_there_as_a_whole_and_the_twins_that_do_not_sync_are_caught(torn):
    """Every writer; without the sync of a file, or of its folder, every one of them loses it."""
    twin, wrong, writers = torn

    assert writers == set(WRITERS)
    assert (wrong | {"ledger"} == writers) if twin else (wrong == set())  # a ledger's bytes SQLite syncs too


def renaming(text: ast.Module) -> set[str]:
    """The calls that give a file another name: `path.replace(other)` and the like; not those of texts and records."""
    return {
        node.func.attr
        for node in ast.walk(text)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in MOVES
        and (
            ast.unparse(node.func.value) == "os"
            or (node.func.attr != "link" and len(node.args) == 1 and not node.keywords)
        )
    }


def test_files_are_named_in_one_home_that_syncs_them_first():
    homes = {PACKAGE / "release/once.py", PACKAGE / "ledger/sqlite.py", PACKAGE / "data/engines/sealing.py"}
    others = {PACKAGE / "data/engines/postgres_sql.py"}  # replaces nodes of a query
    found = {path for path in [*modules(PACKAGE), *modules(ROOT / "deploy")] if renaming(syntax(path))}

    assert found == homes | others


def test_the_walk_finds_a_file_that_is_named_elsewhere():
    assert renaming(ast.parse("import os\nos.replace(draft, path)")) == {"replace"}
    assert renaming(ast.parse("draft.replace(path)")) == {"replace"}
    assert renaming(ast.parse("draft.rename(path)")) == {"rename"}
    assert renaming(ast.parse("text.replace('a', 'b')\nreplace(record, name=1)\nmoment.replace(tzinfo=None)")) == set()
