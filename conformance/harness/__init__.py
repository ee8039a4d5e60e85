"""Runs cases on subjects, each cell in isolation, and judges what came out.

`loading` finds the cases on disk, `plan` crosses them with subjects, `pool` runs the cells in `worker` processes,
`judge` turns observations into states, with the subject's gaps in mind. The worker's side (`worker`, `execute`,
`compare`, `exact`, `capture`, `loading`) runs under the interpreter of any subject: it imports nothing but numpy and
its siblings.
"""
