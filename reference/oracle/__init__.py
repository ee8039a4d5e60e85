"""The tape oracle: gradients by walking the record of an interpreted run backwards, apart from the compiler's autodiff.

tape.py       gradient(): run, record, walk back; duals.py: second(): the same over dual numbers
trace.py      what a record is made of: nodes, storages, what each executed operation read and gave
recorder.py  recorder_control.py    running a kernel so that it leaves a record
walker.py  adjoints.py              the way back
beside.py  numbers.py               other numbers that a run carries along (f64), and how derivatives are evaluated

May import: numpy, `adstack.errors`, `adstack.ir`, `adstack.interpreter`.
"""
