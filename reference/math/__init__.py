"""The functions of shading languages as a module to import: import adstack.math as tm."""

from ..values.matrices.math import *  # noqa: F403 - the names that __all__ lists
from ..values.matrices.math import __all__ as __all__
from ..values.matrices.math import __getattr__ as __getattr__
