"""Fields, arrays, indices, atomics: a kernel as a map on memory."""
