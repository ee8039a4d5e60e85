"""How the math library's coefficients were found, and how its accuracy is measured.

minimax.py  best polynomial approximations, with coefficients rounded to the format they are used in
jit.py      a math function compiled for this machine, to be run on many arguments
sweep.py    the largest error of a function over all arguments of a format, or a sample of them
"""
