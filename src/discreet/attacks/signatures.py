"""Data that cannot be sanitized: rows signed by somebody whose secret key is not in the table.

Theorem (Dwork, Naor, Reingold, Rothblum, Vadhan 2009).  Let every row be a message with its signature.  Synthetic data
that answer the one query "is the signature valid?" roughly right contain a valid row.  A new one would be a forgery, so
it is a copy of somebody's row: replace that row by a fresh one, and the same output is a forgery.  An efficient
mechanism that makes such data is therefore not (epsilon, delta)-DP if (1 - f) / n > e^epsilon f + delta, where f is the
chance to forge.  Signatures must be strongly unforgeable: another signature of an old message is a new row.
Proof: docs/theory/traitors.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Bytes = npt.NDArray[np.uint8]

MESSAGE, SIGNATURE = 16, 64  # bytes


@dataclass(frozen=True, slots=True, eq=False)
class SignedRows:
    """Rows of 80 bytes, and the public key under which they are valid.

    >>> table = signed_rows(2)
    >>> table.rows.shape, table.valid(table.rows).tolist()
    ((2, 80), [True, True])
    """

    rows: Bytes = field(repr=False)
    public_key: bytes

    def valid(self, rows: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Which of these rows carry a valid signature: the query of the theorem."""
        import numpy as np
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        given = np.asarray(rows, dtype=np.uint8)
        if given.ndim != 2 or given.shape[1] != MESSAGE + SIGNATURE:
            raise ParameterError(f"need rows of {MESSAGE + SIGNATURE} bytes")
        key = Ed25519PublicKey.from_public_bytes(self.public_key)
        found = np.zeros(len(given), dtype=bool)
        for place, row in enumerate(given):
            try:
                key.verify(row[MESSAGE:].tobytes(), row[:MESSAGE].tobytes())
            except InvalidSignature:
                continue
            found[place] = True
        return found

    def copied(self, rows: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Which of these rows are somebody's."""
        import numpy as np

        held = {row.tobytes() for row in self.rows}
        return np.array([row.tobytes() in held for row in np.asarray(rows, dtype=np.uint8)], dtype=bool)


def signed_rows(count: int) -> SignedRows:
    """Random messages with Ed25519 signatures; the secret key is thrown away.

    >>> table = signed_rows(3)
    >>> table.valid(table.rows).tolist(), table.valid(table.rows ^ 1).any()
    ([True, True, True], np.False_)
    """
    import os

    import numpy as np
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    require(isinstance(count, int) and not isinstance(count, bool) and count >= 1, "count >= 1", count=count)
    secret = Ed25519PrivateKey.generate()
    messages = [os.urandom(MESSAGE) for _ in range(count)]
    rows = [np.frombuffer(message + secret.sign(message), dtype=np.uint8) for message in messages]
    return SignedRows(np.stack(rows), secret.public_key().public_bytes_raw())
