"""Random kernels, differentiated by a subject and by the reference: what differs is reduced and written as a case.

expressions.py  floats, integers and conditions of a kernel, as text
statements.py   what a kernel does, as text: loops, branches, locals, memory
grammar.py      a program of kernels, drawn from choices, with what it is made of
casefile.py     the program as a file of one case, and as a script that only a peer runs
trials.py       what a subject makes of a program
search.py       programs one after the other; what fails is reduced
reports.py      the findings as files: cases, drafts of bug reports, counts

Imports conformance.case, harness and the choices beside this folder.
"""
