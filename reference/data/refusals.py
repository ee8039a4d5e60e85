"""What whole fields and ndarrays do not do on the host, as numbers and lists do: what is raised says what to use."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ..errors import AdstackRuntimeTypeError, AdstackTypeError

__all__ = ["Refusals"]


class Refusals:
    """Arithmetic, comparisons, iteration, length and conversion of a whole field or array: all are errors."""

    def _called(self) -> str:
        """What to call it in messages."""
        return "the field of structs"

    def __bool__(self) -> bool:
        return True  # as an object that is there, though it has no length

    def __iter__(self) -> Any:
        raise AdstackRuntimeTypeError(
            f"{self._called()} can't be iterated over on the host", do="use to_numpy(), or index it"
        )

    def __len__(self) -> int:
        raise AdstackTypeError(
            f"{self._called()} has no len() on the host", do="write x.shape[0], the extent of an axis"
        )

    def __float__(self) -> float:
        self._refuse_number("float")

    def __int__(self) -> int:
        self._refuse_number("int")

    def _refuse_number(self, to: str) -> NoReturn:
        raise AdstackTypeError(
            f"{self._called()} is no number that {to}() converts",
            do=f"name an element: {to}(x[None]) where the shape is (), {to}(x[i]) elsewhere",
        )

    def _calculate(self, other: object) -> Any:
        """Refuse arithmetic, which fields do not have; beside an array of numpy's, numpy decides."""
        if isinstance(other, (np.ndarray, np.generic)):
            return NotImplemented
        raise AdstackTypeError(
            f"{self._called()} can't be calculated with on the host",
            do="write a kernel, or use to_numpy(): x.to_numpy() + 1.0",
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _calculate
    __pow__ = __rpow__ = __matmul__ = __lt__ = __le__ = __gt__ = __ge__ = _calculate
