"""Reading a kernel: an interpreter over the syntax tree of the user's function."""
