"""How deep each adstack must be: size formulas, and the tasks that compute them ahead of a launch.

expr.py      the nodes of a formula
numbers.py   where the numbers of a task come from
build.py     from the code that counts to a formula
emit.py      from a formula to code
sizers.py    programs with tasks that size the adstacks of others
evaluate.py  formulas evaluated on the host: a second way, to check the first
text.py      formulas for people

May import: adstack.ir, adstack.transforms, adstack.errors. Nothing else of adstack.
"""
