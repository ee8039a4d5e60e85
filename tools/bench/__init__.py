"""`adstack bench`: the same work on adstack and on its peers, alternating, on this machine.

rows: what is measured. subjects: what measures it, each in processes of its own (workers) under its own interpreter,
by a program in runners. measure: who runs when. figures: medians, spreads, ratios. report: the table and the JSON.

Imports adstack's public API, click and rich; the runners import none of these.
"""
