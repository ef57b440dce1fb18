"""How far several fits are, for the person who waits: which of them is running, of how many.

Both are public: how many there are was asked for, and one that is done was paid for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

Thing = TypeVar("Thing")


def watched(things: Sequence[Thing], *, doing: str, shown: bool) -> Iterable[Thing]:
    """The things one by one, with a bar on standard error where somebody watches.

    >>> list(watched([1, 2], doing="fitting", shown=False))
    [1, 2]
    """
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    if not shown or not console.is_terminal:
        return things
    return track(things, description=doing, console=console, transient=True)
