"""Breaks adstack, one change at a time, and has the tests notice. Run by `python -m adstack.tools.mutation`.

Operations: `mutants` and `conversions` change rows of the table of operations and the rules of types, in forks (`run`).
Autodiff: `edits` changes source text, as the files of `wrong` say; `rules` makes the changes to rows of the table of
derivatives; `copies` tries each on a copy of the sources, where `witness` runs the tests; `autodiff` is all of that.

`__main__` writes conformance/results/mutation*.json. A change that no test notices is a test that is missing.
"""
