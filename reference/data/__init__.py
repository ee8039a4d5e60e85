"""Data that kernels work on: fields, ndarrays, struct fields, and arrays of others.

factories.py      field, ndarray, tensor: data by the type of its elements
fields.py         fields; struct_fields.py: one field per member; components.py: one number of every element
placement.py      where fields stand; snode.py: the levels that place them, by axes.py; own_levels.py: of other fields
levels.py         sparse levels; activation.py: what the host activates; sparse.py: what programs ask of them
ndarrays.py       arrays that are passed as arguments
element_views.py  vectors and matrices that are live views of an element
hostarrays.py     elements and bulk copies from the host; hostvalues.py: what the host may put where
device_arrays.py  arrays of others in a device's memory; dlpack.py: memory handed to others

May import: values, runtime, ir, errors.
"""
