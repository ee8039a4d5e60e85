"""Memory of a device, which the host addresses as well: that of `shared.buffers`."""

from __future__ import annotations

from adstack.backends.shared.buffers import Piece, piece, words_of

__all__ = ["Piece", "piece", "words_of"]
