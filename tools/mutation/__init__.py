"""Breaks adstack, one change at a time, and has the tests notice. Run by `python -m adstack.tools.mutation`.

Operations: `mutants` and `conversions` change rows of the table of operations and the rules of types, in forks (`run`).
Autodiff: `edits` changes source text, as the files of `wrong` say; `rules` makes the changes to rows of the table of
derivatives; `patches` makes each in a fork; `autodiff` is all of that.
Rooms: `operators` makes the changes that fit anywhere, `rooms` draws them, `reach` knows which tests run what.

`__main__` writes conformance/results/mutation*.json by way of `ledger`. A change that no test notices is a test that is
missing, or changes nothing: then `equivalent.txt` says why.
"""
