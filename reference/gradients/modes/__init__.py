"""A specialisation in forward and reverse mode, and all that is known of its derivatives.

differentiated.py  a specialisation in another mode, launched with a call's memory; with_arrays
checkpointed.py    the same reverse mode with checkpoints, where memory is short
apart.py           which specialisation serves a call: arrays that are apart, or one memory
races.py           what is known of its races, with arrays apart and with arrays that are one
footprints.py      the elements that a launch and its reverse mode may touch
state.py           GradientState: everything of the above that is kept for one specialisation, by typed keys
jvp.py             a specialisation that computes tangents, as one of its own, for second derivatives
lanes.py           a specialisation with several tangents beside each value
companions.py      the memory of gradients and duals beside what the kernel touches
compiled.py        asks for a mode, a part or a journal, compiled when it is first asked for
making.py          how each of these is derived and compiled
May import: launch, data, runtime, autodiff, analysis, ir, errors.
"""
