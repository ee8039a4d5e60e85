"""Parallel loops: tasks, races, random numbers."""
