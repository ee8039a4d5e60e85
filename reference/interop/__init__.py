"""What kernels as functions of other libraries share: `adstack.torch` and `adstack.jax`.

bridge.py  a kernel, what its launches write, what its derivative needs to know of a launch, and the derivative itself

May import `kernels` and below; it knows neither torch nor jax.
"""
