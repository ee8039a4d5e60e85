"""What is evaluated while compiling: loops, branches, constants, templates."""
