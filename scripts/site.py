"""mkdocs hooks: folders in the navigation, links to whole examples, and formulas as MathML, which need no script.

A navigation entry that ends in "/" stands for every page of that folder: its index, then in the order of its links.
Formulas are written `$...$`; the browser draws the MathML that is made of them here.
"""

from __future__ import annotations

import html
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

from latex2mathml.converter import convert

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

    Entry = str | list[str | dict[str, str]]

log = logging.getLogger("mkdocs.hooks.site")  # a warning here fails the strict build
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
PART = re.compile(r'^```\w+\n--8<-- "examples/(?P<name>\d[\w.]+):\w+"\n```$', re.MULTILINE)
SIZED = re.compile(r"\\[Bb]igg?[lr]?\s*(\\[lr](?:floor|ceil))")  # the converter knows sizes of brackets only


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace each folder of the navigation by its pages."""
    docs = Path(config.docs_dir)
    config.nav = [{title: _pages(docs, target) for title, target in entry.items()} for entry in config.nav or []]
    return config


def _pages(docs: Path, target: Entry) -> Entry:
    if isinstance(target, list):  # of pages with titles, and of folders
        return [page for part in target for page in ([part] if isinstance(part, dict) else _pages(docs, part))]
    if not target.endswith("/"):
        return target
    index = docs / target / "index.md"
    linked = [
        "index.md",
        *re.findall(r"\]\((\w+\.md)\)", index.read_text(encoding="utf-8")),
    ]  # in the order of the index
    place = {name: at for at, name in reversed(list(enumerate(linked)))}
    pages = sorted((docs / target).glob("*.md"), key=lambda page: (place.get(page.name, len(linked)), page.name))
    return [page.relative_to(docs).as_posix() for page in pages]


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Below the first part of an example that a page shows, link to all of it: there are its imports and its data."""
    return whole_examples(markdown, up="../" * page.file.src_uri.count("/"))


def whole_examples(markdown: str, *, up: str) -> str:
    """The text with a link after the first part of each example."""
    linked = set[str]()

    def part(match: re.Match[str]) -> str:
        name = match["name"]
        if name in linked:
            return match[0]
        linked.add(name)
        anchor = f"{up}gallery.md#{name.rpartition('.')[0].replace('_', '-')}"
        return f"{match[0]}\n\n*All of it, with imports and data: [examples/{name}]({anchor}).*\n"

    return PART.sub(part, markdown)


def on_page_content(content: str, *, page: Page, **_: object) -> str:
    """Replace each formula by its MathML, and warn of what is left of LaTeX in it."""

    def mathml(match: re.Match[str]) -> str:
        formula = SIZED.sub(r"\1", html.unescape(match[2]).strip())
        drawn = convert(formula, display="block" if match[1] == "div" else "inline")
        if unknown := re.search(r"\\[A-Za-z]+", drawn):
            log.warning("%s: %s is not understood in %s", page.file.src_uri, unknown[0], formula)
        return drawn

    return FORMULA.sub(mathml, content)
