"""The types that users name as a module to import: from adstack.types import vector."""

from ..values.matrices.types import *  # noqa: F403 - the names that __all__ lists
from ..values.matrices.types import __all__ as __all__
from ..values.matrices.types import __getattr__ as __getattr__
from ..values.matrices.types import is_float as is_float
from ..values.matrices.types import is_integral as is_integral
from ..values.matrices.types import is_real as is_real
from ..values.matrices.types import is_signed as is_signed
