"""What the proof tests share: a brute-force judge and a generator of random kernels."""
