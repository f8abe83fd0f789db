"""What text and what result: selector, emission, simulator, assembler and device. Imports ptxspec, never the reverse."""
