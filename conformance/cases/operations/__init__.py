"""Every scalar operation in every type that has it, on a grid of operands, against exact arithmetic."""
