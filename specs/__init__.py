"""Data only: the PTX instruction specs of ptxspec (installed as ``ptxspec.specs``)."""
