"""Blocks of threads: shared arrays, where threads wait for each other, subgroups, races, gradients."""
