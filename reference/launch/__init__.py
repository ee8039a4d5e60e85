"""From a call's arguments to a launch.

parameters.py      one parameter per annotation: arguments.py, array_arguments.py, structured_arguments.py and
                   template_arguments.py check values
specialisation.py  a kernel compiled for one kind of arguments; lifetimes.py: how long it lives
attributes.py      what was read of objects while compiling; contents.py: what they hold, where that can change in place
results.py         what a kernel returns

May import: frontend, data, values, runtime, ir, errors.
"""
