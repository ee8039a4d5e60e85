"""IR to the Metal Shading Language, for metal: a program as one source, with a kernel function for each task (`tasks`).

The text is meant to be read: values keep the names that they have in the program, loops and branches are those of the
IR. What the language leaves open (overflow of signed integers, division by zero, conversions out of range) is done by
short functions in front of the text, of which `prelude` has those that are used.

May import: adstack.ir, adstack.analysis, adstack.errors, the layout of the heap in adstack.runtime, backends.shared.
"""
