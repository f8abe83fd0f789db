"""PTX text: operands, parsing and linting of modules."""
