"""GradBench's evals as programs of adstack: https://github.com/gradbench/gradbench has their definitions.

Each module is one eval. It has FUNCTIONS, by the names of GradBench's protocol: what makes a `Task` of an input as
it comes in JSON; and EXAMPLE, a small input. All numbers are f64. `python -m adstack.conformance.gradbench` answers
GradBench's protocol with them. May import: adstack, and numpy.
"""

from types import MappingProxyType

from . import ba, det, gmm, hello, ht, kmeans, llsq, lse, lstm, ode, particle, saddle

__all__ = ["EVALS"]

_MODULES = (hello, gmm, ba, ht, lstm, lse, llsq, det, kmeans, ode, particle, saddle)
EVALS = MappingProxyType({module.__name__.rpartition(".")[2]: module for module in _MODULES})
"""The modules, by the names of the evals."""
