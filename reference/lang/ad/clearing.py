"""Setting gradients and duals to zero."""

from __future__ import annotations

from ...runtime import state
from ..fields import Field
from ..ndarrays import Ndarray

__all__ = ["clear_all", "clear_all_gradients"]


def clear_all_gradients() -> None:
    """Set the gradients of all fields to zero."""
    clear_all("grad")


def clear_all(role: str) -> None:
    """Set the gradients ("grad") of all fields, or the duals ("dual") of all fields and ndarrays, to zero."""
    kinds = (Field, Ndarray) if role == "dual" else (Field,)
    for resident in state.current().residents():
        if isinstance(resident, kinds) and resident.role == role and resident.has_data():
            resident.buffer.write(0)
