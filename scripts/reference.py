"""Write docs/reference/ and docs/theory/index.md from the source.  `make reference` runs it.

The reference has one page a layer and one entry for each public name, which are those that the
layer's `__init__.py` re-exports as `X as X`; and a page with the help of every command of the
command line.  The index of the theory lists each page under the lowest layer that cites it.
"""

from __future__ import annotations

import ast
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src/discreet"
MAP = ["privacy", "hazmat", "mechanisms", "composition", "data", "queries", "release", "structured"]  # bottom up
MAP += ["synthesis", "learning", "local", "attacks", "bounds", "planning", "ledger", "curator", "service"]
LAYERS = [layer for layer in MAP if (PACKAGE / layer / "__init__.py").exists()]


BENCHMARKS = """# Benchmarks

Every figure that `make bench` (or `discreet bench --peers`) wrote last, with the day and the machine of each table.
A row with a need fails the benchmark where it is not met. Peers that cannot live in one environment were measured
apart, and the row says so. `x` is a ratio of two figures of the same run.

A run is complete on any machine. One benchmark that dies does not stop the others; the end names what died, and what
was not measured there: a peer that is not installed, data that no variable names. Where there is no card, the figures
of the last run with one are kept, with its day. `make quick` (`python -m benchmarks --quick`, with names for some of
them) runs everything at its smallest size, to see that it runs: it promises nothing and writes no figure.
`DISCREET_QUICK=1` does the same for one benchmark alone, as in `DISCREET_QUICK=1 python -m benchmarks.noise`.
"""
ROOMS = {
    "0": "First steps",
    "1": "The exercises of the notes",
    "2": "The curator and its ledger",
    "3": "Engines, medians, quantiles, graphs",
    "4": "Many questions at once",
    "5": "Models and synthetic data",
    "6": "Learning",
    "7": "Estimators and networks; auditing; the service",
    "8": "The local model",
    "9": "Attacks and bounds",
}


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


def benchmarks_page() -> str:
    """What was measured last, a table for each benchmark; a benchmark writes its own figures."""
    lines = [BENCHMARKS]
    for file in sorted((ROOT / "benchmarks/results").glob("*.json")):
        stored = json.loads(file.read_text())
        about = ast.get_docstring(ast.parse((ROOT / f"benchmarks/{file.stem}.py").read_text())) or ""
        lines += [f"## {file.stem.replace('_', ' ')}", "", about.split("\n\n")[0], ""]
        lines += [f"Measured on {stored['day']}: {stored['machine']}.", ""]
        if "page" in stored:  # a table of its own shape, which its benchmark writes where it is explained
            lines += [f"{len(stored['cells'])} figures: [the table]({stored['page']}).", ""]
            continue
        lines += ["| what | | need |", "|---|---|---|"]
        lines += [
            f"| {_cell(row['what'])} | {_figure(row['value'])} {_cell(row['unit'])} | {_cell(row['promise'])} |"
            for row in stored["rows"]
        ] + [""]
    return "\n".join(lines)


def _figure(value: float | None) -> str:
    """A figure as it is shown; none where it was not measured."""
    return "" if value is None else f"{value:g}"


def gallery_page() -> str:
    """Every example with its picture and its code."""
    lines = [
        "# Examples",
        "",
        "Short scripts, one idea each. The tests run all of them; `make gallery` draws the pictures.",
    ]
    room = ""
    for path in sorted([*(ROOT / "examples").glob("*.py"), *(ROOT / "examples").glob("*.sh")]):
        text = path.read_text()
        about = ast.get_docstring(ast.parse(text)) if path.suffix == ".py" else text.splitlines()[1].strip("# ")
        opening, *rest = (about or "").split("\n\n")
        if path.name[0] != room:
            room = path.name[0]
            lines += ["", f"## {ROOMS[room]}"]
        lines += [
            "",
            f"### {path.stem[:2]}: {path.stem[3:].replace('_', ' ')}",
            "",
            opening.replace("\n", " "),
            *(["", *rest] if rest else []),
        ]
        if (ROOT / f"docs/images/gallery/{path.stem}.svg").exists():
            lines += ["", f"![{path.stem[3:].replace('_', ' ')}](images/gallery/{path.stem}.svg)"]
        language = "python" if path.suffix == ".py" else "bash"
        lines += [
            "",
            f'??? note "examples/{path.name}"',
            f"    ```{language}",
            f'    --8<-- "examples/{path.name}"',
            "    ```",
        ]
    return "\n".join(lines) + "\n"


def _of_the_notes(name: str) -> Any:  # noqa: ANN401 - a module
    """A list that the tests of the notes keep."""
    place = importlib.util.spec_from_file_location(name, ROOT / f"tests/notes/{name}.py")
    assert place is not None
    assert place.loader is not None
    found = importlib.util.module_from_spec(place)
    place.loader.exec_module(found)
    return found


def coverage_page() -> str:
    """Every construction of the notes with its module and its oracles."""
    found = _of_the_notes("coverage")
    lines = ["# What the notes construct", "", (found.__doc__ or "").split("\n\n")[1].replace("\n", " "), ""]
    lines += [
        "[The errata](errata.md) say where the notes are wrong.",
        "",
        "| | what | module | held to known numbers by |",
    ]
    lines.append("|---|---|---|---|")
    for name, entry in found.ENTRIES.items():
        tests = ", ".join(f"`{oracle.split('::')[1].replace('_', ' ')}`" for oracle in entry.oracles)
        lines.append(f"| {name} | {entry.what} | `{entry.module}` | {tests} |")
    lines += ["", "## Worked examples and exercises", "", "| of the notes | entries | example |", "|---|---|---|"]
    for asked, (what, entries, example) in _of_the_notes("worked").WORKED.items():
        place = "stories.md" if example.startswith("stories/") else f"gallery.md#{example.replace('_', '-')}"
        link = f"[{what}]({place})"
        lines.append(f"| {asked} | {', '.join(entries)} | {link} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "&#124;").replace("<", "&lt;")


def _theory_pages() -> list[Path]:
    return sorted(page for page in (ROOT / "docs/theory").glob("*.md") if page.name != "index.md")


def _cites(layer: str, page: Path) -> bool:
    return any(f"docs/theory/{page.name}" in module.read_text() for module in (PACKAGE / layer).rglob("*.py"))


def pages() -> dict[str, str]:
    """Every page that is written from the source, by its path below docs/."""
    made = {f"reference/{layer}.md": layer_page(layer) for layer in LAYERS}
    made["reference/errors.md"] = "# discreet.errors\n\n::: discreet.errors\n"
    made["reference/cli.md"] = cli_page()
    made["benchmarks.md"] = benchmarks_page()
    made["gallery.md"] = gallery_page()
    made["coverage.md"] = coverage_page()
    return made | {"reference/index.md": reference_index(), "theory/index.md": theory_index()}


if __name__ == "__main__":
    for name, text in pages().items():
        (ROOT / "docs" / name).write_text(text)
