"""Write the ledger of the present format, once, when a release brings a new one; what is here is never written again.

python -m tests.ledger.formats.write tests/ledger/formats/vN.db
python -m tests.ledger.formats.write postgresql:///an_empty_database   # then pg_dump --inserts --no-owner to vN.sql
"""

from __future__ import annotations

import sys

from discreet.ledger import Ledger
from discreet.privacy.event import ApproxEvent, GaussianEvent, LaplaceEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP


class Kept:
    """A witness in memory."""

    held: tuple[str | None, str | None] = None, None

    def read(self) -> tuple[str | None, str | None]:
        return self.held

    def compare_and_set(self, expected: str | None, text: str) -> bool:
        if expected == self.held[0]:
            self.held = str(int(expected or 0) + 1), text
        return self.held[1] == text


def write(place: str) -> None:
    """One entry or more of every kind, in every currency."""
    lost = Kept()
    with Ledger.open(":memory:", witness=lost) as ledger:
        ledger.register(unit="nurse", cap=PureDP(1))
        ledger.spend(PureDP("1/4"), unit="nurse", tables=["rounds"])
    with Ledger.recover(place, witness=lost, reason="its disk was lost") as ledger:
        ledger.register(unit="patient", cap=ApproxDP(1, 1e-6))
        ledger.register(unit="doctor", cap=PureDP(2))
        ledger.register(unit="device", cap=ZCDP(0.5))
        ledger.sub_cap("visits", PureDP(0.9), unit="patient")
        ledger.allot("ada", PureDP(0.5), unit="patient")
        ledger.allot("ada", PureDP(0.6), unit="patient")
        for i in range(3):
            query = f"SELECT COUNT(*) FROM visits WHERE age = {i}"
            request = {"unit": "patient", "tables": ["visits"], "analyst": "ada", "version": "1", "query": query}
            receipt = ledger.spend(LaplaceEvent(scale=10, sensitivity=1), key=f"k{i}", **request)
            if i < 2:
                ledger.store(receipt, f"answer {i}".encode() + bytes(range(256)))
        choosy = ApproxEvent(epsilon="1/10", delta="1/10000000")
        ledger.spend(choosy, unit="patient", tables=["bills"], analyst="b\u00f6b", key="d")
        ledger.spend(GaussianEvent(sigma=30, sensitivity=1), unit="device", tables=["signals"], query="SELECT 1")
        ledger.spend(PureDP("1/3"), unit="doctor", tables=["shifts", "wards"], version="2")
        ledger.top_up("patient", ApproxDP(1.5, 1e-6), reason="a second study")
        ledger.renew("patient", period="2027", cap=ApproxDP(1, 1e-6), reason="a new year")
        ledger.spend(LaplaceEvent(scale=10, sensitivity=1), unit="patient", tables=["visits"], analyst="ada")
        ledger.retire("bills", reason="sold")
        ledger.retire("wards", reason="a mistake")
        ledger.reopen("wards", reason="it was one")
        ledger.erase("visits", version="2", requests=3)
        ledger.witness_anew(None, reason="it goes to an archive")
        print(ledger.verify())


if __name__ == "__main__":
    write(sys.argv[1])
