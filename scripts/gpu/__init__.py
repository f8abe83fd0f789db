"""What runs on a machine with a GPU beside the benchmarks: hardware conformance of the database."""
