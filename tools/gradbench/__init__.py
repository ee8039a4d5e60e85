"""GradBench's evals on adstack and on GradBench's own tools, in one run on one machine.

`inputs` says what is measured; `peers` builds GradBench's tools in a checkout, and has the command of each; `peer` is
such a command, under the Python of the peers. `measure` runs the sessions and writes a record; `page` makes its table.
First `python -m adstack.tools.gradbench.measure CHECKOUT --python PATH`, then
`python -m adstack.tools.gradbench.page --write`.
"""
