"""Control flow: loops, branches, conditions, asserts, prints."""
