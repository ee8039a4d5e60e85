"""IR to numbers: the reference interpreter, which defines what every operation means, to the bit.

It imports adstack.ir and adstack.errors, nothing else of adstack: it shares no code with the backends below the IR.
"""
