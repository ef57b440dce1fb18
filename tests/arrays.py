"""PyTorch for the tests of array code; where it is not installed these tests are skipped and counted (`not_run`)."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest


class _Missing:
    def __getattr__(self, name: str) -> Any:
        module = sys._getframe(1).f_globals["__name__"]  # each says so for itself: reports alike are shown once
        pytest.skip(f"PyTorch is NOT installed: {module} was not run", allow_module_level=True)


try:
    torch: Any = importlib.import_module("torch")
except ImportError:
    torch = _Missing()
