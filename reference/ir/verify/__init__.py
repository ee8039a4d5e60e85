"""Whether IR obeys its rules: `verify(kernel)` is silent, or raises an IRError that says which op broke which rule.

verifier.py   walks kernels and programs
rules.py      one rule per op: rules_memory.py, rules_control.py, rules_call.py, rules_program.py
expect.py     the small checks that rules are made of

May import: ir, errors.
"""
