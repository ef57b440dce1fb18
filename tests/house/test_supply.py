"""What is shipped: a lock of what the service needs and no more, a bill of it, and no secret in any file."""

from __future__ import annotations

import json
import os
import re
import runpy
import secrets
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.repository import MADE, ROOT
from tests.house.test_house import PROJECT, _locked

LOCKS = ROOT / "requirements"
SUBSETS = {"service": ["discreet[service,postgres,plot]"], "build": PROJECT["build-system"]["requires"]}
SECRETS = {
    "a token of ours": rb"dct_[0-9a-f]{8}_[A-Za-z0-9_-]{43}",
    "a private key": rb"-----BEGIN [A-Z ]*PRIVATE KEY-----\s*[A-Za-z0-9+/=]{20}",
    "a token of an identity provider": rb"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}",
    "a key of a cloud": rb"\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}\b",
    "a password in an address": rb"\b[a-z]+://[^/\s:@\"'{}]+:(?!secret@)[^@/\s\"'{}]{3,}@",  # not the made-up one
}


def _needed(wanted: list[str]) -> set[str]:
    """Everything that some requirements need on this machine, by what the installed packages say of themselves."""
    project, seen, todo = PROJECT["project"], set(), [*wanted]
    while todo:
        asked = Requirement(todo.pop())
        for extra in ("", *asked.extras):
            if (asked.name, extra) in seen:
                continue
            seen.add((asked.name, extra))
            own = project["optional-dependencies"].get(extra, project["dependencies"])
            needs = own if asked.name == "discreet" else distribution(asked.name).requires or []
            marked = [(need, Requirement(need).marker) for need in needs]
            todo += [need for need, marker in marked if marker is None or marker.evaluate({"extra": extra})]
    return {canonicalize_name(name) for name, _ in seen} - {"discreet"}


@pytest.mark.parametrize("name", SUBSETS)
def test_what_is_deployed_is_what_was_tested_and_only_what_is_needed(name):
    part, whole = _locked(LOCKS / f"{name}.lock"), _locked(LOCKS / "dev.lock")

    assert set(part) == _needed(SUBSETS[name])
    assert {package: whole.get(package) for package in part} == part
    assert len(part) < len(whole) / 2


def test_nothing_that_tests_or_builds_is_deployed():
    deployed = set(_locked(LOCKS / "service.lock"))

    assert deployed.isdisjoint({"pytest", "playwright", "schemathesis", "hypothesis", "pyspark", "mkdocs", "hatchling"})
    assert {"fastapi", "uvicorn", "duckdb", "psycopg", "cryptography"} <= deployed


@pytest.mark.parametrize("lock", sorted(LOCKS.glob("*.lock")), ids=lambda lock: lock.stem)
def test_the_bill_of_materials_has_every_package_of_a_lock_with_its_hashes(lock):
    bill = runpy.run_path(str(ROOT / "scripts/sbom.py"))["bill"]
    found = json.loads(json.dumps(bill(lock)))
    listed = {part["name"]: part for part in found["components"]}

    assert (found["bomFormat"], found["specVersion"], found["metadata"]["component"]["name"]) == (
        "CycloneDX", "1.5", "discreet",
    )  # fmt: skip
    assert set(listed) == set(_locked(lock))
    for name, entry in _locked(lock).items():
        assert f"=={listed[name]['version']} " in entry
        assert {part["content"] for part in listed[name]["hashes"]} == set(re.findall(r"[0-9a-f]{64}", entry))
    assert bill(lock) == found


def _files(root: Path) -> list[Path]:
    """Every file that is kept; folders that are made, and those of tools, are not."""
    found: list[Path] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in MADE | {".venv", ".git"} and not name.endswith("_cache")]
        found += [Path(folder) / name for name in names if not (Path(folder) / name).is_symlink()]
    return found


def _secrets(files: list[Path]) -> list[tuple[str, str]]:
    return [
        (path.name, kind)
        for path in files
        for kind, form in SECRETS.items()
        if re.search(form, path.read_bytes())
    ]  # fmt: skip


def test_no_file_holds_a_secret():
    files = _files(ROOT)

    assert len(files) > 500
    assert _secrets(files) == []


def test_a_secret_in_a_file_would_be_found(tmp_path):
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    from discreet.service.store import open_store
    from discreet.service.tokens import issue

    key = generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with open_store(":memory:") as store:
        token = issue(store, principal="ada", role="steward", days=1)
    part = secrets.token_hex(12)
    planted = {
        "token.md": f"`{token}`".encode(),
        "key.py": b'KEY = """' + key + b'"""',
        "jwt.json": f'"eyJ{part}.eyJ{part}.{part}"'.encode(),
        "cloud.toml": b"id = 'AKIA" + b"Z" * 16 + b"'",
        "url.toml": f'ledger = "postgresql{":"}//ada:{part}@db/x"'.encode(),
    }
    for name, content in planted.items():
        (tmp_path / name).write_bytes(content)

    assert sorted(_secrets(_files(tmp_path))) == sorted(zip(planted, SECRETS, strict=True))
