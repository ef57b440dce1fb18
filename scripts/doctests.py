"""A griffe extension: the doctests of a docstring are code, also outside of a section of their own."""

from __future__ import annotations

import re

from griffe import Extension, Object

EXAMPLE = re.compile(r"(?:^|(?<=\n\n))(>>> .*?)(?=\n\n|\Z)", re.DOTALL)


class Doctests(Extension):
    """Fences every paragraph that begins with a prompt."""

    def on_object(self, *, obj: Object, **_: object) -> None:
        """Called once for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The text with its doctests in fences."""
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[1]}\n```", text)
