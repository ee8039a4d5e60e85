"""Runs of the suite on several machines, by Dask distributed: cells go to workers that have what they run on.

member.py    a worker: it announces its subjects as resources, and runs batches of cells
run.py       the run: hands batches out, and puts the results together, each once
search.py    random kernels: hands numbers of programs out, and puts the findings together

Imports adstack's public API, adstack.conformance.harness, subjects and fuzz.differential; distributed where it is used,
and not before.
"""
