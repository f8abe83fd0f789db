"""Generated tables, one module for each mnemonic."""
