"""Run the examples (all, or those named) and keep their pictures in docs/images/gallery/.  `make gallery` runs it.

An example draws one picture, `out/<its name>.svg` or of another name anywhere below `out`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs/images/gallery"
FONTS = "Liberation Sans, Arial, Helvetica, Nimbus Sans, sans-serif"  # as wide as what the text was measured with


def main(names: list[str]) -> int:
    """How many examples drew nothing."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    missing = 0
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for path in sorted([*(ROOT / "examples").rglob("*.py"), *(ROOT / "examples").glob("*.sh")]):
        if names and path.stem not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            program = "bash" if path.suffix == ".sh" else sys.executable
            subprocess.run([program, str(path)], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
            drawn = sorted(Path(folder).rglob("*.svg"), key=lambda picture: (picture.stem != path.stem, picture.name))
            if drawn:
                text = (
                    drawn[0].read_text(encoding="utf-8").replace('font-family="sans-serif"', f'font-family="{FONTS}"')
                )
                (PICTURES / f"{path.stem}.svg").write_text(text, encoding="utf-8")
            else:
                missing += 1
                print(f"{path.name} drew nothing")
    return missing


if __name__ == "__main__":
    sys.exit(min(1, main(sys.argv[1:])))
