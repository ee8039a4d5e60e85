"""What the threads of a block do together as a module to import: from adstack.simt import block."""

from ..values.simt import *  # noqa: F403 - the names that __all__ lists
from ..values.simt import __all__ as __all__
from ..values.simt import __getattr__ as __getattr__
