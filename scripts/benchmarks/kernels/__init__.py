"""Kernels that the benchmarks run; each file is loaded by our language and, through the same surface, by TIRx."""
