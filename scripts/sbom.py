"""Print what a lock installs as a bill of materials, in the JSON of CycloneDX 1.5.

    python scripts/sbom.py requirements/service.lock >sbom.json

Names, versions and hashes are those of the lock; licences are those of the packages that are installed here, where
they are.  The same lock gives the same text: there is no date and no serial number in it.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENTRY = re.compile(r"^([\w.-]+)==([\w.+!-]+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)


def bill(lock: Path) -> dict[str, object]:
    """The bill of one lock."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (version,) = re.findall(r'__version__ = "(.+)"', (ROOT / "src/discreet/_version.py").read_text(encoding="utf-8"))
    ours = {
        "type": "application",
        "name": project["name"],
        "version": version,
        "licenses": _licences(project["license"]),
    }
    found = ENTRY.findall(lock.read_text(encoding="utf-8"))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": ours},
        "components": [_component(name, number, hashes) for name, number, hashes in found],
    }


def _component(name: str, version: str, hashes: str) -> dict[str, object]:
    component: dict[str, object] = {
        "type": "library",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "hashes": [{"alg": "SHA-256", "content": content} for content in re.findall(r"[0-9a-f]{64}", hashes)],
    }
    try:
        known = metadata(name).json
    except PackageNotFoundError:
        return component
    stated = known.get("license_expression") or known.get("license") or ""
    short = str(stated).strip().splitlines()[:1]  # some put the whole text of the licence there
    return component | ({"licenses": _licences(short[0])} if short and len(short[0]) < 100 else {})


def _licences(name: str) -> list[dict[str, dict[str, str]]]:
    return [{"license": {"name": name}}]


if __name__ == "__main__":
    print(json.dumps(bill(Path(sys.argv[1])), indent=2))
