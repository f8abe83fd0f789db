"""The database at build time: reading, linking, checking and proving the specs, and rendering tables from them.

Nothing here is on the way of a query: queries run on the generated tables (:mod:`ptxspec.forms`). The package is
called ``db`` because ``ptxspec.database`` is the public function.
"""
