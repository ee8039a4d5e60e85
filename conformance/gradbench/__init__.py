"""GradBench's protocol: adstack as a tool that answers it, and sessions of any eval with any tool.

`python -m adstack.conformance.gradbench [ARCH]` is the tool: messages on stdin, answers on stdout. `python -m
adstack.conformance.gradbench.session CHECKOUT EVAL` lets an eval of a checkout of GradBench judge it. May import:
the evals' programs, and adstack's public names.
"""

from .protocol import answers, evaluate

__all__ = ["answers", "evaluate"]
