"""How the math library's coefficients were found, and how its accuracy is measured.

coefficients.py  writes the library's coefficients; minimax.py: best approximations, rounded to a format
__main__.py      measures: `python -m adstack.tools.accuracy --all`
measure.py       the largest error of a function over many arguments, judged by mpmath where it is large
points.py        the arguments; truth.py: the functions as others compute them; distance.py: ulp
jit.py           a math function compiled for this machine; cost.py: operations and nanoseconds
ordinary.py      arguments for which a function's multiply-adds meet no subnormal number
results.py       conformance/results/math/*.json; table.py: the tables of reference/spec/math.md
"""
