"""Figures in the files that asv reads, written without asv and without its environments.

catalogue: the benchmarks that asv knows, and their settings. recorded: what records of `adstack bench`, and of tools
for devices, say in terms of these. families: benchmarks run in this process. commits: what was measured. results: the
files. options: those of `adstack bench`. `python -m adstack.tools.bench.asv` makes those of
records that are kept.

asv itself is needed where its pages are made: a machine with the hardware may have neither a network nor git.
"""
