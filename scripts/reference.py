"""Write docs/reference/: one page a layer, one entry for each public name.  `make reference` runs it.

The public names of a layer are those its `__init__.py` re-exports as `X as X`.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
MAP = ["privacy", "hazmat", "mechanisms", "composition", "data", "queries", "release", "structured"]  # bottom up
MAP += ["synthesis", "learning", "local", "attacks", "bounds", "planning", "ledger", "curator", "service"]
LAYERS = [layer for layer in MAP if (ROOT / "src/discreet" / layer / "__init__.py").exists()]


def public_names(layer: str) -> list[str]:
    """What `discreet.<layer>` re-exports, in alphabetical order."""
    tree = ast.parse((ROOT / "src/discreet" / layer / "__init__.py").read_text())
    imports = (alias for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names)
    return sorted(alias.asname for alias in imports if alias.asname == alias.name)


def page(layer: str) -> str:
    """The reference page of one layer."""
    module = ROOT / "src/discreet" / layer / "__init__.py"
    opening = ast.get_docstring(ast.parse(module.read_text())) or ""
    entries = "\n".join(f"::: discreet.{layer}.{name}\n" for name in public_names(layer))
    return f"# discreet.{layer}\n\n{opening}\n\n{entries}"


def index() -> str:
    """The reference's first page."""
    lines = "\n".join(f"- [`discreet.{layer}`]({layer}.md)" for layer in LAYERS)
    return (
        "# Reference\n\nWritten from the source by `make reference`; a test compares the two.\n\n"
        f"{lines}\n- [`discreet.errors`](errors.md)\n"
    )


def pages() -> dict[str, str]:
    """Every page, by file name."""
    made = {f"{layer}.md": page(layer) for layer in LAYERS}
    return made | {"index.md": index(), "errors.md": "# discreet.errors\n\n::: discreet.errors\n"}


if __name__ == "__main__":
    for name, text in pages().items():
        (ROOT / "docs/reference" / name).write_text(text)
