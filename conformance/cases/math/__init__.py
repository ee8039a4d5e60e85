"""The functions of the math library: interior, edges, special values, huge and subnormal arguments."""
