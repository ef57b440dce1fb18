"""Write docs/reference/ and docs/theory/index.md from the source.  `make reference` runs it.

The reference has one page a layer and one entry for each public name, which are those that the
layer's `__init__.py` re-exports as `X as X`; and a page with the help of every command of the
command line.  The index of the theory lists each page under the lowest layer that cites it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src/discreet"
MAP = ["privacy", "hazmat", "mechanisms", "composition", "data", "queries", "release", "structured"]  # bottom up
MAP += ["synthesis", "learning", "local", "attacks", "bounds", "planning", "ledger", "curator", "service"]
LAYERS = [layer for layer in MAP if (PACKAGE / layer / "__init__.py").exists()]


def public_names(layer: str) -> list[str]:
    """What `discreet.<layer>` re-exports, in alphabetical order."""
    tree = ast.parse((PACKAGE / layer / "__init__.py").read_text())
    imports = (alias for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names)
    return sorted(alias.name for alias in imports if alias.asname == alias.name)


def layer_page(layer: str) -> str:
    """The reference page of one layer."""
    opening = ast.get_docstring(ast.parse((PACKAGE / layer / "__init__.py").read_text())) or ""
    entries = "\n".join(f"::: discreet.{layer}.{name}\n" for name in public_names(layer))
    return f"# discreet.{layer}\n\n{opening}\n\n{entries}"


def reference_index() -> str:
    """The reference's first page."""
    lines = "\n".join(f"- [`discreet.{layer}`]({layer}.md)" for layer in LAYERS)
    lines += "\n- [`discreet.errors`](errors.md)\n- [the command line](cli.md)\n"
    return f"# Reference\n\nEvery public name, bottom up, and every command.\n\n{lines}"


def helps() -> Iterator[tuple[str, str]]:
    """Every command of the command line with what its --help prints, 100 columns wide and without colours."""
    from typer.main import get_command

    from discreet.cli import app

    def walk(command: Any, name: str, parent: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - typer names no type
        command.rich_markup_mode = None
        context = command.context_class(command, info_name=name, parent=parent, terminal_width=100)
        yield context.command_path, command.get_help(context)
        for word, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, word, context)

    return walk(get_command(app), "discreet", None)


def cli_page() -> str:
    """The reference page of the command line."""
    opening = ast.get_docstring(ast.parse((PACKAGE / "cli/__init__.py").read_text())) or ""
    shown = "\n".join(f"## {name}\n\n```text\n{text.strip()}\n```\n" for name, text in helps())
    return f"# The command line\n\n{opening}\n\n{shown}"


def theory_index() -> str:
    """Links to every theory page, under the lowest layer that cites it."""
    lines, listed = ["# Theory", "", "Each module opens with its theorem; these pages prove them."], set[Path]()
    for layer in [*LAYERS, ""]:
        found = [page for page in _theory_pages() if page not in listed and (not layer or _cites(layer, page))]
        if found:
            lines += ["", f"## {layer or 'More'}", ""]
            lines += [f"- [{page.read_text().splitlines()[0].removeprefix('# ')}]({page.name})" for page in found]
        listed.update(found)
    return "\n".join(lines) + "\n"


def _theory_pages() -> list[Path]:
    return sorted(page for page in (ROOT / "docs/theory").glob("*.md") if page.name != "index.md")


def _cites(layer: str, page: Path) -> bool:
    return any(f"docs/theory/{page.name}" in module.read_text() for module in (PACKAGE / layer).rglob("*.py"))


def pages() -> dict[str, str]:
    """Every page that is written from the source, by its path below docs/."""
    made = {f"reference/{layer}.md": layer_page(layer) for layer in LAYERS}
    made["reference/errors.md"] = "# discreet.errors\n\n::: discreet.errors\n"
    made["reference/cli.md"] = cli_page()
    return made | {"reference/index.md": reference_index(), "theory/index.md": theory_index()}


if __name__ == "__main__":
    for name, text in pages().items():
        (ROOT / "docs" / name).write_text(text)
