"""What text and what result: selector, emission, simulator, assembler, device. Imports ptxspec, never the reverse."""
