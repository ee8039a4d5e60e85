"""Setting gradients and duals to zero."""

from __future__ import annotations

from ...runtime import state
from ..fields import Field

__all__ = ["clear_all", "clear_all_gradients"]


def clear_all_gradients() -> None:
    """Set the gradients of all fields to zero."""
    clear_all("grad")


def clear_all(role: str) -> None:
    """Set the gradients ("grad") or duals ("dual") of all fields to zero, where they have memory."""
    for resident in state.current().residents():
        if isinstance(resident, Field) and resident.role == role and resident.has_data():
            resident.buffer.write(0)
