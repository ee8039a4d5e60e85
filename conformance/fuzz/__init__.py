"""Random programs: kernels that are well typed, terminate, stay in bounds and have no race, with inputs for them.

programs.py   random_kernel(seed, size), sized_kernel(n_ops), the hypothesis strategy kernels(); generator.py  grows one
values.py     interesting numbers, and buffers filled with them; exact_numbers.py  rounding once, in rationals
smooth.py     kernels to differentiate, with inputs and adjoints; smooth_math.py  their arithmetic
traffic.py    kernels that overwrite and update what they read; naive.py  a second interpreter, iteration by iteration
choices.py    a generator of random numbers that can be prescribed; reduction.py  makes what was drawn smaller
differential/ kernels as text, on any subject, beside the tape oracle: adstack fuzz
histories/    launches, gradients and changes of memory between them, held against plain programs
interrupts.py Ctrl-C at random moments of whatever a program does; results.py  files of what came of such trials
mutants.py    the cases' programs with tokens deleted, doubled, exchanged; trial.py runs one, text.py many

May import: numpy, hypothesis, click, `adstack.ir`; mutants, trial, text, histories, differential, interrupts and
results also the harness and the public API.
"""
