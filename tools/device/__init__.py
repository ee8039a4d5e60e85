"""Examines a machine with an accelerator in one go: `python -m adstack.tools.device --out DIR`.

Parts run one after another, the most important first, each in a process of its own with a limit on its time. What they
find is in few files: `summary.json` has the outcome of every part, `log.txt` what they printed, and
`results.json` what is worth keeping of all that: it goes to `conformance/results/bench`, and what `results.py` makes of
`conformance.json` to `conformance/results/cuda` or `vulkan`.
"""
