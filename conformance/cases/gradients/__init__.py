"""Gradients: reverse mode, tapes and forward mode, against exact derivatives of plain Python."""
