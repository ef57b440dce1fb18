"""How far a fit is, for the person who waits: the rounds that are done, of those that were planned.

Both are public: the plan is fixed before a row is read, and a round that is done was paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar(
    rounds: int, *, shown: bool | Callable[[int, int], None], doing: str = "measuring", things: str = "rounds"
) -> Iterator[Callable[[int], None]]:
    """A bar on standard error while the rounds run, gone afterwards, also when they end early; or nothing at all.

    A function is told instead how many rounds are done, and of how many.

    >>> with bar(3, shown=False) as show:
    ...     show(1)
    >>> with bar(3, shown=print) as show:
    ...     show(1)
    1 3
    """
    if callable(shown):
        yield lambda done: shown(done, rounds)
        return
    if not shown:
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), TextColumn(things), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(doing, total=rounds)
        yield lambda done: progress.update(task, completed=done)
