"""Generated: one module for each mnemonic; each form's decision as a readable Boolean expression over its slots."""
