"""discreet: the trusted curator, as software.

Answers are differentially private, carry an error bar and are paid for first.
Names are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from discreet._version import __version__ as __version__

if TYPE_CHECKING:
    from discreet import attacks as attacks
    from discreet import bounds as bounds
    from discreet import composition as composition
    from discreet import curator as curator
    from discreet import data as data
    from discreet import errors as errors
    from discreet import hazmat as hazmat
    from discreet import learning as learning
    from discreet import ledger as ledger
    from discreet import local as local
    from discreet import mechanisms as mechanisms
    from discreet import planning as planning
    from discreet import privacy as privacy
    from discreet import queries as queries
    from discreet import release as release
    from discreet import service as service
    from discreet import structured as structured
    from discreet import synthesis as synthesis
    from discreet.curator import Curator as Curator
    from discreet.data import Boolean as Boolean
    from discreet.data import Categorical as Categorical
    from discreet.data import Date as Date
    from discreet.data import Domain as Domain
    from discreet.data import Graph as Graph
    from discreet.data import Identifier as Identifier
    from discreet.data import Integer as Integer
    from discreet.data import Real as Real
    from discreet.data import Table as Table
    from discreet.data import Text as Text
    from discreet.data import Timestamp as Timestamp
    from discreet.planning import plan as plan
    from discreet.privacy import ZCDP as ZCDP
    from discreet.privacy import ApproxDP as ApproxDP
    from discreet.privacy import GaussianDP as GaussianDP
    from discreet.privacy import PureDP as PureDP
    from discreet.queries import marginals as marginals
    from discreet.service import Client as Client

_PACKAGES = (
    "attacks",
    "bounds",
    "composition",
    "curator",
    "data",
    "errors",
    "hazmat",
    "learning",
    "ledger",
    "local",
    "mechanisms",
    "planning",
    "privacy",
    "queries",
    "release",
    "service",
    "structured",
    "synthesis",
)
_COLUMNS = ("Boolean", "Categorical", "Date", "Identifier", "Integer", "Real", "Text", "Timestamp")
_NAMES = {
    "Curator": "discreet.curator",
    **dict.fromkeys(("Domain", "Graph", "Table", *_COLUMNS), "discreet.data"),
    **dict.fromkeys(("PureDP", "ApproxDP", "ZCDP", "GaussianDP"), "discreet.privacy"),
    "marginals": "discreet.queries",
    "plan": "discreet.planning",
    "Client": "discreet.service",
}


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return importlib.import_module(f"discreet.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_PACKAGES, *_NAMES, "__version__"])
