"""What a mechanism that lists the universe needs, against what this machine has: refused when it is built.

A mechanism that cannot run is refused before anything is paid for it, by public sizes alone: the cells of the declared
domain, the queries, and the memory of the machine.  What is refused says which size would do.
"""

from __future__ import annotations

import functools
import math
import os

from discreet.errors import UnsupportedError

CARD = 1 << 38  # bytes: more than any card has; what runs on one is held to its own memory there


def listed(cells: int, *, each: int, beside: int = 0, what: str, device: str | None = None) -> None:
    """Refuse to list a universe of so many cells, at `each` bytes a cell and some `beside`, where that does not fit.

    >>> listed(1 << 20, each=24, what="the projection")
    >>> listed(1 << 60, each=24, what="the projection")
    Traceback (most recent call last):
    discreet.errors.UnsupportedError: the projection lists the universe, of 1.15e+18 cells: it needs about ...
    """
    room = memory() if device in (None, "cpu") else CARD
    need = cells * each + beside
    if need <= room:
        return
    most = max(0, room - beside) // each
    bits = f", {int(math.log2(most))} columns of two values" if most > 1 else ""
    raise UnsupportedError(
        f"{what} lists the universe, of {cells:.3g} cells: it needs about {need / (1 << 30):.3g} GiB, and there are"
        f" {room / (1 << 30):.3g}, enough for {most:,} cells{bits}; leave columns out (Domain.project), declare coarser"
        " steps, or use a mechanism that does not list it, such as IndependentNoise or MarginalRelease"
    )


@functools.cache
def memory() -> int:
    """The bytes of memory of this machine; 16 GiB where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 16 << 30
