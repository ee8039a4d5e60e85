"""Breaks the definition of the language, one change at a time, and has the tests notice. Run by
`python -m adstack.tools.mutation`.

`mutants` says what is changed, `run` tries one change in a process of its own, `__main__` tries all and writes
conformance/results/mutation.json. A change that no test notices is a test that is missing.
"""
