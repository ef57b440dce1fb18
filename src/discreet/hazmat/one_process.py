"""What counts its uses, or keeps noise, in memory alone: it stays in one process, as one object, used by one at a time.

Theorem.  Let every use of an object's private state be inside `_alone`.  Then the uses of that state are those of one
object in one process, one after another, whatever is forked, copied or pickled: a count that is kept in memory is the
count of all uses there ever are, and noise that is kept is used by no two processes.
Proof: a fork changes the number of the process, and where the fork is Python's the mark of it as well, and both are
compared before the state is looked at; `copy`, `deepcopy` and `pickle` all begin with `__reduce__`, which refuses; two
threads exclude one another by the lock, which a child never waits for, as it is refused before.

What counts on the disk (a ledger, and curators over it) goes on in a child: the count is the same for both.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, NoReturn, Self

from discreet.errors import UnsupportedError


class OneProcess:
    """Base of what may be used in the process that made it, and cannot be copied, pickled or carried into a fork.

    >>> class Coin(OneProcess):
    ...     WHAT, INSTEAD = "a coin", "toss another"
    >>> import copy
    >>> copy.copy(Coin())
    Traceback (most recent call last):
    discreet.errors.UnsupportedError: a coin cannot be copied or pickled; toss another
    """

    __slots__ = ("_alone_lock", "_home")

    WHAT: ClassVar[str] = "a session"
    INSTEAD: ClassVar[str] = "open another and pay for it"

    _alone_lock: threading.Lock
    _home: tuple[int, object]

    def __new__(cls, *_: object, **__: object) -> Self:
        """Note the process, whatever the class does when it is made."""
        made = super().__new__(cls)
        object.__setattr__(made, "_alone_lock", threading.Lock())  # the class may be frozen
        object.__setattr__(made, "_home", (os.getpid(), _mark))
        return made

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Use the private state: here, and one thread at a time."""
        self._refuse_elsewhere()
        with self._alone_lock:
            yield

    def _refuse_elsewhere(self) -> None:
        """Refuse in any process but the one that made it."""
        number, mark = self._home
        if number != os.getpid() or mark is not _mark:  # numbers of processes come back; marks do not
            raise UnsupportedError(f"{self.WHAT} cannot be carried into a forked process; {self.INSTEAD}")

    def __reduce__(self) -> NoReturn:
        """Refused: each copy would count for itself."""
        raise UnsupportedError(f"{self.WHAT} cannot be copied or pickled; {self.INSTEAD}")


_mark = object()  # of this process


def _forked() -> None:
    global _mark
    _mark = object()


os.register_at_fork(after_in_child=_forked)
