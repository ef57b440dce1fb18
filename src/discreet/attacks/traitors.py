"""Traitor tracing from private-key encryption and a fingerprinting code (Chor, Fiat, Naor 1994; Ullman 2013).

Each user has a key.  A broadcast has one component a user, the bit of that user's column encrypted by that user's key;
normally all components carry the same bit.  To trace, the bits of user i are those of the code word of user i.  Without
the key of user i a component of user i says nothing, so whatever a pirate decoder answers is feasible for the words of
those whose keys it holds, up to the security of the cipher, and the code names one of them.

Encryption of a bit b: a random 128-bit nonce r, and b xor the low bit of AES(key, r).  A user's record is (i, key):
decryption needs the index to find the component.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.attacks.codes.tardos import Tardos, tardos
from discreet.errors import ParameterError, require
from discreet.hazmat.entropy import RandomSource, source

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Bits = npt.NDArray[np.uint8]

BLOCK = 16  # bytes of a key and of a nonce


@dataclass(frozen=True, slots=True, eq=False)
class Broadcast:
    """Ciphertexts, one a column and user: nonces of 16 bytes, and bits."""

    nonces: npt.NDArray[np.uint8] = field(repr=False)  # (columns, users, 16)
    bits: Bits = field(repr=False)  # (columns, users)


@dataclass(frozen=True, slots=True)
class Record:
    """What a user holds, and what a row of a private table would be."""

    user: int
    key: bytes = field(repr=False)

    def decrypt(self, broadcast: Broadcast) -> Bits:
        """The bit of every column, from the user's own component."""
        pad = _pad(self.key, broadcast.nonces[:, self.user])
        return (broadcast.bits[:, self.user] ^ pad).astype("uint8")


@dataclass(frozen=True, slots=True, eq=False)
class TraitorTracing:
    """Keys of all users, and a code against coalitions of any size up to `pirates`.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> scheme = TraitorTracing.generate(5, pirates=2, seed=1, rng=SeededRandom(1))
    >>> sent = scheme.broadcast(rng=SeededRandom(2))
    >>> scheme.trace(scheme.records[3].decrypt(sent)).tolist()
    [3]
    """

    records: tuple[Record, ...] = field(repr=False)
    code: Tardos

    @classmethod
    def generate(
        cls,
        users: int,
        *,
        pirates: int | None = None,
        innocent: float | None = None,
        miss: float = 0.01,
        seed: int,
        rng: RandomSource | None = None,
    ) -> TraitorTracing:
        """Keys and a code; `innocent` is 0.3 / users unless told, which is all that the reduction to privacy needs."""
        require(isinstance(users, int) and not isinstance(users, bool) and users >= 1, "users >= 1", users=users)
        rate = 0.3 / users if innocent is None else innocent
        code = tardos(users, users if pirates is None else pirates, innocent=rate, miss=miss, seed=seed)
        keys = source(rng).words(2 * users).tobytes()
        cut = [keys[BLOCK * user : BLOCK * (user + 1)] for user in range(users)]
        return cls(tuple(Record(user, key) for user, key in enumerate(cut)), code)

    def broadcast(self, *, rng: RandomSource | None = None) -> Broadcast:
        """The code, column by column: what is sent to trace a decoder."""
        return self.encrypt(self.code.words.T, rng=rng)

    def encrypt(self, bits: npt.ArrayLike, *, rng: RandomSource | None = None) -> Broadcast:
        """Encrypt a bit for every column and user."""
        import numpy as np

        plain = np.asarray(bits, dtype=np.uint8)
        if plain.ndim != 2 or plain.shape[1] != len(self.records):
            raise ParameterError(f"need columns of {len(self.records)} bits")
        random = source(rng)
        nonces = random.words(2 * plain.size).view(np.uint8).reshape(*plain.shape, BLOCK)
        pads = np.stack([_pad(record.key, nonces[:, record.user]) for record in self.records], axis=1)
        return Broadcast(nonces, plain ^ pads)

    def trace(self, answers: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The users whom a decoder's answers to `broadcast` accuse."""
        return self.code.trace(answers)


def pirate(
    records: Sequence[Record], mix: Callable[[Bits], npt.ArrayLike]
) -> Callable[[Broadcast], npt.NDArray[np.uint8]]:
    """A decoder made from some users' records: `mix` sees their decrypted words, one a row.

    >>> pirate([], lambda copies: copies)
    Traceback (most recent call last):
    discreet.errors.ParameterError: need at least one record, got records=0
    """
    import numpy as np

    require(len(records) >= 1, "at least one record", records=len(records))
    return lambda sent: np.asarray(mix(np.stack([record.decrypt(sent) for record in records])), dtype=np.uint8)


def _pad(key: bytes, nonces: npt.NDArray[np.uint8]) -> Bits:
    """The low bits of AES of the nonces."""
    import numpy as np
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    # One block a nonce, of which one bit is used: AES as a pseudorandom function, not as a mode of operation.
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    blocks = encryptor.update(np.ascontiguousarray(nonces).tobytes())
    return (np.frombuffer(blocks, dtype=np.uint8).reshape(-1, BLOCK)[:, 0] & 1).astype(np.uint8)
