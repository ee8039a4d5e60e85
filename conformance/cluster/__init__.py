"""Runs of the suite on several machines, by Dask distributed: cells go to workers that have what they run on.

member.py    a worker: it announces its subjects as resources, and runs batches of cells
run.py       the run: hands batches out, and puts the results together, each once

Imports adstack's public API, adstack.conformance.harness and subjects; distributed where it is used, and not before.
"""
