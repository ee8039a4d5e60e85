"""The version of adstack: files that are kept on disk are bound to it."""

from __future__ import annotations

from typing import Final

__all__ = ["VERSION"]

VERSION: Final = "0.1.0"
