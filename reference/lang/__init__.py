"""What a user writes: kernels, functions, fields, ndarrays, vectors, matrices, structs, math.

specs.py is the seam between the host side (data, calls) and frontend/ (Python source -> IR).

Differentiation: gradient.py is kernel.grad, differentiated.py a kernel in another mode; ad/ has Tape, FwdMode and the
rest, recording.py tells them of calls and of writes.
Calls: kernel.py and specialisation.py; parameters.py makes a parameter of each annotation, arguments.py,
array_arguments.py and template_arguments.py check what is passed, results.py builds what is returned, explain.py tells.
Data: data.py makes it, fields.py, snode.py (placement), struct_fields.py, ndarrays.py hold it, hostarrays.py and
hostvalues.py read and write it from the host. options.py: init, reset, sync.
Values: matrix.py, struct.py, types.py, functions.py, math.py; func.py and compile_time.py are for inside of kernels.

May import: ir, runtime, errors.
"""
