"""How the service runs: the section [service] of curator.toml.

    [service]
    host = "127.0.0.1"       # off loopback only with TLS, or behind a proxy that has it
    port = 8000
    workers = 2              # processes that serve HTTP
    children = 2             # processes that read private rows, for each worker
    slot = 2.0               # seconds: a charged answer leaves exactly so long after a child began its question
    margin = 0.5             # seconds before the end of the slot at which a run is stopped
    memory = 2048            # MB, for each child
    queue = 64               # orders that may wait, in each worker
    rate = 1200              # requests a minute of one principal, to one worker
    body = 262144            # bytes of a request
    store = "service.db"     # tokens, approvals, orders with their answers, jobs; or a URL of PostgreSQL
    log = "service.log"      # standard error if not given
    tls_certificate = "server.pem"
    tls_key = "server.key"

    [service.approval]       # above this price a steward must approve
    epsilon = "0.5"

    [service.slots]          # of some datasets, instead of `slot`
    visits = 2.5

    [service.oidc]           # bearer tokens of an identity provider, beside our own; its "ada" is "oidc:ada" here
    issuer = "https://id.example.org/"
    audience = "discreet"
    jwks = "https://id.example.org/keys"   # or a file
    roles = { researchers = "analyst" }    # values of the claim, and the role each gives

Everything here is public: slots and limits are set from it and never from the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from discreet.curator.config import budget, place, read
from discreet.errors import ParameterError, require
from discreet.privacy.guarantee import Guarantee

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_NESTED = ("approval", "slots", "oidc")


@dataclass(frozen=True, kw_only=True, slots=True)
class Oidc:
    """An identity provider whose bearer tokens are taken, and what its claims mean here.

    >>> Oidc(issuer="https://id.example.org/", audience="discreet", jwks="keys.json", roles={"staff": "analyst"}).claim
    'role'
    """

    issuer: str
    audience: str
    jwks: str
    roles: Mapping[str, str]
    claim: str = "role"  # what holds the role: a word, or a list of them
    principal: str = "sub"  # what holds the name
    datasets: str | None = None  # what holds the datasets of an analyst, if they are not all

    def __post_init__(self) -> None:
        for name in ("issuer", "audience", "jwks", "claim", "principal"):
            value = getattr(self, name)
            require(isinstance(value, str) and bool(value), f"text for {name} in [service.oidc]", **{name: value})
        safe = "://" not in self.jwks or self.jwks.startswith("https://")
        require(safe, "jwks of [service.oidc] that is an address with https:// or a file", jwks=self.jwks)
        known = isinstance(self.roles, Mapping) and set(self.roles.values()) <= {"steward", "analyst", "auditor"}
        require(known, "roles of [service.oidc] that are steward, analyst or auditor", roles=self.roles)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The section [service], checked.

    >>> Settings().slot_of(["visits"])
    2.0
    >>> Settings(slots={"visits": 2.5}).slot_of(["visits", "wards"])
    2.5
    """

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    children: int = 2
    slot: float = 2.0
    margin: float = 0.5
    memory: int = 2048
    queue: int = 64
    rate: int = 1200
    body: int = 262_144
    store: str = ":memory:"
    log: str | None = None
    tls_certificate: str | None = None
    tls_key: str | None = None
    behind_proxy: bool = False
    approval: Guarantee | None = None
    slots: Mapping[str, float] = field(default_factory=dict)
    oidc: Oidc | None = None

    def __post_init__(self) -> None:
        for name, least in (("port", 0), ("workers", 1), ("children", 1), ("memory", 256), ("queue", 0), ("rate", 1)):
            value = getattr(self, name)
            require(type(value) is int and value >= least, f"an integer {name} >= {least}", **{name: value})
        require(self.port < 65536, "port < 65536", port=self.port)
        require(type(self.body) is int and self.body >= 1024, "an integer body >= 1024", body=self.body)
        require(isinstance(self.slots, Mapping), "slots by dataset, in [service.slots]", slots=self.slots)
        for name, value in {"slot": self.slot, "margin": self.margin, **self.slots}.items():
            right = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
            require(right and value > 0, f"{name} > 0, in seconds", **{name: value})
        for name, value in {"slot": self.slot, **self.slots}.items():
            require(value > self.margin, f"{name} longer than the margin", **{name: value, "margin": self.margin})
        pair = {"tls_certificate": self.tls_certificate, "tls_key": self.tls_key}
        require((self.tls_certificate is None) == (self.tls_key is None), "both of a certificate and a key", **pair)

    @classmethod
    def read(cls, path: str | Path) -> Settings:
        """The settings of a curator's file; what it does not say has its default, and paths are relative to it."""
        file = Path(path)
        whole = read(file)
        section = whole.get("service", {})
        if not isinstance(section, dict):
            raise ParameterError("need [service] to be a section")
        known = {found.name for found in fields(cls)} - {"behind_proxy"}
        unknown = sorted(set(section) - known)
        if unknown:
            raise ParameterError(f"[service] has no setting {unknown[0]!r}; there are {', '.join(sorted(known))}")
        given = {name: value for name, value in section.items() if name not in _NESTED}
        for name in ("tls_certificate", "tls_key", "log"):
            if name in given:
                given[name] = str(file.parent / str(given[name]))
        given["store"] = _store(given.get("store"), place(whole, file.parent), file.parent)
        approval = None if "approval" not in section else budget(section["approval"])
        return cls(**given, approval=approval, slots=section.get("slots", {}), oidc=_oidc(section.get("oidc"), file))

    def slot_of(self, tables: Iterable[str]) -> float:
        """How many seconds a question about these tables takes, whatever is in them."""
        return max((float(self.slots.get(name, self.slot)) for name in tables), default=float(self.slot))

    def may_listen(self) -> None:
        """Refuse to speak plain HTTP to the world."""
        if self.host not in LOOPBACK and self.tls_certificate is None and not self.behind_proxy:
            raise ParameterError(
                f"plain HTTP on {self.host} would send tokens and answers in the clear; set tls_certificate and tls_key"
                " in [service], or say --behind-proxy where a proxy has the certificate"
            )


def _store(given: object, ledger: str, folder: Path) -> str:
    """Where the service keeps its own records: beside the ledger, unless it is said."""
    if given is None:
        return (
            ledger
            if "://" in ledger
            else ":memory:"
            if ledger == ":memory:"
            else str(Path(ledger).parent / "service.db")
        )
    text = str(given)
    return text if "://" in text or text == ":memory:" else str(folder / text)


def _oidc(given: object, file: Path) -> Oidc | None:
    if given is None:
        return None
    if not isinstance(given, dict) or set(given) - {found.name for found in fields(Oidc)}:
        raise ParameterError(f"[service.oidc] takes {', '.join(found.name for found in fields(Oidc))}")
    try:
        made = Oidc(**given)
    except TypeError:
        raise ParameterError("[service.oidc] needs issuer, audience, jwks and roles") from None
    if "://" in made.jwks:
        return made
    return Oidc(**{**given, "jwks": str(file.parent / made.jwks)})
