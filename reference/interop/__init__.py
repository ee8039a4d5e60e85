"""What kernels as functions of other libraries share: `adstack.torch` and `adstack.jax`.

bridge.py  a kernel, what its launches write, what its derivative needs to know of a launch, and the derivative itself
surroundings.py  what a launch works with and the other library does not keep, which must be the same for the derivative

May import `kernels` and below; it knows neither torch nor jax.
"""
