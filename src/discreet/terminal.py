"""What a person at a terminal sees: results, and that something long is running."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext


def shown(thing: object) -> None:
    """Print, as it is."""
    from rich.console import Console

    Console(soft_wrap=True).print(thing, markup=False, highlight=False)


def waiting(text: str) -> AbstractContextManager[object]:
    """A spinner on standard error while something long runs; nothing where nobody watches."""
    from rich.console import Console

    console = Console(stderr=True)
    return console.status(text) if console.is_terminal else nullcontext()
