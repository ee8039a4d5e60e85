"""Vulkan itself: the loader's functions, the instance with the validation layer, and what a pipeline is.

May import: adstack.errors and adstack.runtime.processes.
"""
