"""`Tape`: launches that are recorded, and differentiated in reverse.

tape.py      Tape; inside.py: calls of functions with a gradient of their own, or without any
around.py    forward mode around a tape: second derivatives; outside.py: what was written from outside
recorded.py  how a launch is made so that it can be differentiated after memory went on
links.py     numbers of the host that know where they came from
losses.py    what a tape starts from; reached.py: a loss that nothing computes is an error
follow.py    tapes that follow what earlier ones did; program.py, steps.py: what is known of that
run.py       calls that were followed
cleared.py   gradients of ndarrays that start from zero; kept_regions.py: what calls that are followed keep
lending.py   what arrays of the host hold that such calls are passed
fallbacks.py why calls were not followed
check.py     gradients compared with differences of the loss; nearness.py bounds how far rounding carries these
report.py    what a tape has kept
May import: the rest of gradients but launches and forward; launch and below.
"""
