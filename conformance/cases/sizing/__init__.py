"""How deep adstacks must be: static bounds, bounds from memory, ragged nests, and what only running can tell."""
