"""The PTX instruction forms, as data: this package holds files and no code."""
