"""The cases: `<topic>/<file>.py`, each a page with a title, kernels, inputs and what must come out (see `..case`)."""
