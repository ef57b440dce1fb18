"""Random bits: AES-256 in counter mode, keyed by the operating system.

`SystemRandom` is the only source used unless a test passes `SeededRandom`.  It draws
a fresh key from the operating system at start, after every `REKEY` bytes and in every
forked child, holds a lock while it draws, refuses to be pickled or copied, and raises
`EntropyError` when the operating system gives nothing: no key, no noise, no answer.

A fork is noticed twice over: by Python's hook, and by a page of memory that the kernel
wipes in every child, so that a fork made by a C library behind Python's back is seen too.

Assumption behind every guarantee of this package: AES-256 in counter mode under a key
from the operating system cannot be told from independent fair bits (docs/limitations.md).
What follows from it, and what does not: docs/theory/entropy.md.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import mmap
import os
import sys
import threading
import weakref
from typing import TYPE_CHECKING, NoReturn, Protocol

from discreet.errors import EntropyError, ParameterError, require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Words = npt.NDArray[np.uint64]

REKEY = 1 << 24  # bytes drawn under one key
BUFFER = 1 << 12  # bytes kept for small draws
_WIPE_ON_FORK = 18  # MADV_WIPEONFORK, which Python names only from 3.12 on
_CHUNK = bytes(1 << 16)  # encrypting zeros gives the key stream; 64 KiB stays in cache


class RandomSource(Protocol):
    """Independent fair bits."""

    secure: bool  # False for sources whose output can be predicted

    def bits(self, count: int) -> int:
        """An integer uniform on 0 .. 2^count - 1."""
        ...

    def words(self, count: int) -> Words:
        """`count` independent uniform 64-bit words."""
        ...


class _CounterMode:
    """The key stream of AES-256-CTR, with a small buffer; subclasses say where keys come from."""

    _alive: bytes | mmap.mmap = b"\x01"  # byte 0 turns to zero when this state is a copy and must be forgotten

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._stream = None
        self._room = 0  # bytes left under this key
        self._read = io.BytesIO().read  # of the buffer, which is empty

    def _key(self) -> bytes:
        raise NotImplementedError

    def _rekey(self) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        key = self._key()
        if len(key) != 48:
            raise EntropyError("the random generator gave a short key; nothing was drawn")
        self._stream = Cipher(algorithms.AES(key[:32]), modes.CTR(key[32:])).encryptor()
        self._room = REKEY

    def _fill(self, size: int) -> bytes:
        if self._room < size:
            self._rekey()
        assert self._stream is not None
        self._room -= size
        return self._stream.update(_CHUNK[:size])

    def bits(self, count: int) -> int:
        """An integer uniform on 0 .. 2^count - 1."""
        if count <= 0:
            require(count == 0, "count >= 0", count=count)
            return 0
        size = (count + 7) >> 3
        drawn = self._read(size) if self._alive[0] else b""  # one C call: no two threads get the same bytes
        if len(drawn) < size:
            drawn = self._read_on(drawn, size)
        return int.from_bytes(drawn, "little") >> (-count & 7)  # the spare bits of the last byte are dropped

    def _read_on(self, drawn: bytes, size: int) -> bytes:
        """`drawn` and what comes after it, `size` bytes in all."""
        with self._lock:
            if not self._alive[0]:
                self._forget()
            while len(drawn) < size:
                more = self._read(size - len(drawn))
                if not more:
                    self._read = io.BytesIO(self._fill(BUFFER)).read
                drawn += more
        return drawn

    def words(self, count: int) -> Words:
        """`count` independent uniform 64-bit words, in one array."""
        import numpy as np

        require(count >= 0, "count >= 0", count=count)
        out = np.empty(count + 2, dtype=np.uint64)  # the cipher wants a block to spare
        view = out.view(np.uint8).data
        end, at = 8 * count, 0
        with self._lock:
            if not self._alive[0]:
                self._forget()
            while at < end:
                size = min(len(_CHUNK), end - at)
                if self._room < size:
                    self._rekey()
                assert self._stream is not None
                self._room -= size
                self._stream.update_into(_CHUNK[:size] if size < len(_CHUNK) else _CHUNK, view[at:])
                at += size
        return out[:count]

    def __reduce__(self) -> NoReturn:
        """Refused: a copied generator repeats its noise."""
        raise EntropyError("a random source cannot be pickled or copied: its copy would repeat the same noise")


class SystemRandom(_CounterMode):
    """Keys from the operating system.  Safe to share between threads and across forks."""

    secure = True

    def __init__(self) -> None:
        self._page = self._alive = _wiped_by_fork()
        super().__init__()
        _instances.add(self)

    def _forget(self) -> None:
        super()._forget()
        self._generation = object()
        self._page[0] = 1

    @property
    def generation(self) -> object:
        """Another object in every forked child: what was drawn under an older one must be thrown away."""
        if not self._alive[0]:
            with self._lock:
                self._forget()
        return self._generation

    def _after_fork(self) -> None:
        self._lock = threading.Lock()  # another thread may have held it at the fork
        self._forget()

    def _key(self) -> bytes:
        try:
            return os.urandom(48)
        except (OSError, NotImplementedError) as error:
            raise EntropyError("the operating system's random generator failed; nothing was drawn") from error


def _wiped_by_fork() -> mmap.mmap:
    """A private page that reads as zeros in a forked child, where the kernel can do it (Linux 4.14)."""
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # an older kernel: Python's hook alone then sees the fork
            page.madvise(_WIPE_ON_FORK)
    return page


def _after_fork() -> None:
    for random in _instances:
        random._after_fork()


_instances: weakref.WeakSet[SystemRandom] = weakref.WeakSet()
os.register_at_fork(after_in_child=_after_fork)


class SeededRandom(_CounterMode):
    """A reproducible stream, for tests only: whoever knows the seed can remove the noise.

    >>> SeededRandom(7).bits(16) == SeededRandom(7).bits(16)
    True
    """

    secure = False

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed, self._block = seed, 0

    def _key(self) -> bytes:
        self._block += 1
        return hashlib.sha384(f"discreet/seeded/{self._seed}/{self._block}".encode()).digest()


_system = SystemRandom()


def system() -> SystemRandom:
    """The one generator behind all noise."""
    return _system


def source(rng: RandomSource | None) -> RandomSource:
    """The given source, or the system's when it is None.

    >>> from random import Random
    >>> source(Random(1))
    Traceback (most recent call last):
    discreet.errors.ParameterError: need a RandomSource or None, got Random
    """
    if rng is None:
        return _system
    if not hasattr(rng, "words"):
        raise ParameterError(f"need a RandomSource or None, got {type(rng).__name__}")
    return rng
