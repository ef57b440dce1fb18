"""From a verification circuit to marginals of three columns (Ullman, Vadhan 2011).

The gates of a circuit become columns, and each gate a few clauses of at most three literals (Tseitin 1968): a row of
inputs and gate values satisfies all clauses exactly if the gates compute what they should and the output is one.  The
fraction of rows that satisfy a clause is one minus a cell of a marginal table of three columns.

Theorem.  Let synthetic data satisfy each of m clauses in more than a fraction 1 - 1 / m of its rows.  Then some row
satisfies all, and its inputs are accepted by the circuit: the fractions of rows that violate one sum to less than 1.
For a constant error instead of 1 / m one needs a probabilistically checkable proof, which is not built here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from discreet.errors import ParameterError, require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Bits = npt.NDArray[np.uint8]

Kind = Literal["and", "xor", "not"]
Clause = tuple[tuple[int, bool], ...]  # literals: column, and whether it must be one
TABLES: dict[str, tuple[tuple[int, ...], ...]] = {  # (inputs..., output) that a gate forbids
    "and": ((0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 0)),
    "xor": ((0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 1)),
    "not": ((0, 0), (1, 1)),
}


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate and the columns of its inputs; its own column is the next one."""

    kind: Kind
    inputs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Circuit:
    """Inputs in columns 0, 1, ..., then one column a gate; the last gate is the output.

    >>> both = Circuit(2, (Gate("and", (0, 1)),))
    >>> both.encode([[1, 1], [1, 0]]).tolist(), len(both.clauses())
    ([[1, 1, 1], [1, 0, 0]], 5)
    """

    inputs: int
    gates: tuple[Gate, ...]

    def __post_init__(self) -> None:
        require(self.inputs >= 1 and len(self.gates) >= 1, "inputs and gates", inputs=self.inputs)
        for place, gate in enumerate(self.gates):
            width = len(TABLES[gate.kind][0]) - 1
            before = all(0 <= column < self.inputs + place for column in gate.inputs)
            if len(gate.inputs) != width or not before:
                raise ParameterError(f"gate {place} needs {width} inputs among earlier columns")

    @property
    def columns(self) -> int:
        """Inputs and gates."""
        return self.inputs + len(self.gates)

    def encode(self, inputs: npt.ArrayLike) -> Bits:
        """Rows of inputs with the values of all gates."""
        import numpy as np

        given = np.asarray(inputs, dtype=np.uint8)
        if given.ndim != 2 or given.shape[1] != self.inputs or not np.isin(given, (0, 1)).all():
            raise ParameterError(f"need rows of {self.inputs} bits")
        made = np.zeros((len(given), self.columns), dtype=np.uint8)
        made[:, : self.inputs] = given
        for place, gate in enumerate(self.gates):
            values = [made[:, column] for column in gate.inputs]
            at = self.inputs + place
            made[:, at] = {"and": lambda v: v[0] & v[1], "xor": lambda v: v[0] ^ v[1], "not": lambda v: 1 - v[0]}[
                gate.kind
            ](values)
        return made

    def clauses(self) -> list[Clause]:
        """Those of all gates, and that the output is one."""
        found: list[Clause] = []
        for place, gate in enumerate(self.gates):
            columns = (*gate.inputs, self.inputs + place)
            found += [
                tuple((column, not bit) for column, bit in zip(columns, forbidden, strict=True))
                for forbidden in TABLES[gate.kind]
            ]
        return [*found, ((self.columns - 1, True),)]

    def satisfied(self, rows: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The fraction of rows that satisfy each clause."""
        import numpy as np

        given = np.asarray(rows).astype(bool)
        held = [np.any([given[:, column] == wanted for column, wanted in one], axis=0) for one in self.clauses()]
        return np.mean(held, axis=1)

    def decode(self, rows: npt.ArrayLike) -> Bits | None:
        """The inputs of a row that satisfies every clause, or None."""
        import numpy as np

        given = np.asarray(rows).astype(bool)
        good = np.ones(len(given), dtype=bool)
        for one in self.clauses():
            good &= np.any([given[:, column] == wanted for column, wanted in one], axis=0)
        return given[int(good.argmax()), : self.inputs].astype(np.uint8) if good.any() else None


def toy_verifier(key: int, *, bits: int = 8) -> Circuit:
    """Accepts (m, s) exactly if s is the keyed permutation of m: a few rounds of a Feistel cipher on `bits` bits.

    A toy: it shows the reduction, not security.

    >>> circuit = toy_verifier(12345)
    >>> circuit.inputs, len(circuit.clauses())
    (16, 281)
    """
    require(bits >= 4 and bits % 2 == 0, "an even number of bits >= 4", bits=bits)
    half, gates = bits // 2, []

    def gate(kind: Kind, *inputs: int) -> int:
        gates.append(Gate(kind, inputs))
        return 2 * bits + len(gates) - 1

    left, right = list(range(half)), list(range(half, bits))
    for turn in range(4):
        mixed = []
        for place in range(half):
            both = gate("and", right[place], right[(place + 1) % half])
            made = gate("xor", both, right[(place + 2) % half])
            mixed.append(gate("not", made) if key >> (turn * half + place) & 1 else made)
        left, right = right, [gate("xor", old, new) for old, new in zip(left, mixed, strict=True)]
    equal = [gate("not", gate("xor", made, bits + place)) for place, made in enumerate(left + right)]
    output = equal[0]
    for one in equal[1:]:
        output = gate("and", output, one)
    return Circuit(2 * bits, tuple(gates))
