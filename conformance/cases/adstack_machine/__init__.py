"""The adstack machine, in hand-written IR: its six operations, in every type, at and past the ends of a stack."""
