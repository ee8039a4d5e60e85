"""Arguments and places: numpy arrays, ndarrays, trees, vectors, matrices and structs in memory, the host's view."""
