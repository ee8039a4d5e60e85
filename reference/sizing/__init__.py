"""How deep each adstack must be: size formulas, and the tasks that compute them ahead of a launch.

expr.py      the nodes of a formula; text.py: formulas for people
dependence.py  what values and formulas depend on
build.py     from the code that counts to a formula; emit.py: from a formula to code
sizers.py    programs with tasks that size the adstacks of others; size.py: what is known of each
capacities.py  the adstacks to be sized; slicing.py: a task's code without its effects
formulas.py, counting.py  the two strategies: formulas, and counting passes; claims.py: iterations that push
forced.py    one capacity for all
evaluate.py  formulas evaluated on the host: a second way, to check the first

May import: adstack.ir, adstack.analysis, adstack.transforms, adstack.errors. Nothing else of adstack.
"""
