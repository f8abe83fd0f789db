"""The soundness campaign: the prover against brute force, the simulator, mutants and a second solver, in bulk."""
