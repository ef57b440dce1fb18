"""Random bits: AES-256 in counter mode, keyed by the operating system.

`SystemRandom` is the only source used unless a test passes `SeededRandom`.  It draws
a fresh key from the operating system at start, after every `REKEY` bytes and in every
forked child, holds a lock while it draws, refuses to be pickled or copied, and raises
`EntropyError` when the operating system gives nothing: no key, no noise, no answer.

Assumption behind every guarantee of this package: AES-256 in counter mode under a key
from the operating system cannot be told from independent fair bits (docs/limitations.md).
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import TYPE_CHECKING, NoReturn, Protocol

from discreet.errors import EntropyError, require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Words = npt.NDArray[np.uint64]

REKEY = 1 << 24  # bytes drawn under one key
BUFFER = 1 << 12  # bytes kept for small draws
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

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._stream = None
        self._room = 0  # bytes left under this key
        self._buffer, self._at = b"", 0

    def _key(self) -> bytes:
        raise NotImplementedError

    def _rekey(self) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        key = self._key()
        self._stream = Cipher(algorithms.AES(key[:32]), modes.CTR(key[32:48])).encryptor()
        self._room = REKEY

    def _fill(self, size: int) -> bytes:
        if self._room < size:
            self._rekey()
        assert self._stream is not None
        self._room -= size
        return self._stream.update(_CHUNK[:size])

    def bits(self, count: int) -> int:
        """An integer uniform on 0 .. 2^count - 1."""
        require(count >= 0, "count >= 0", count=count)
        size = (count + 7) // 8
        with self._lock:
            parts = []
            while size > len(self._buffer) - self._at:
                parts.append(self._buffer[self._at :])
                size -= len(parts[-1])
                self._buffer, self._at = self._fill(BUFFER), 0
            parts.append(self._buffer[self._at : self._at + size])
            self._at += size
        return int.from_bytes(b"".join(parts), "little") >> (-count % 8)

    def words(self, count: int) -> Words:
        """`count` independent uniform 64-bit words, in one array."""
        import numpy as np

        require(count >= 0, "count >= 0", count=count)
        out = np.empty(count + 2, dtype=np.uint64)  # the cipher wants a block to spare
        view = memoryview(out).cast("B")
        end, at = 8 * count, 0
        with self._lock:
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
        super().__init__()
        os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        self._lock = threading.Lock()  # another thread may have held it at the fork
        self._forget()

    def _key(self) -> bytes:
        try:
            return os.urandom(48)
        except (OSError, NotImplementedError) as error:
            raise EntropyError("the operating system's random generator failed; nothing was drawn") from error


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


def source(rng: RandomSource | None) -> RandomSource:
    """The given source, or the system's when it is None."""
    return _system if rng is None else rng
