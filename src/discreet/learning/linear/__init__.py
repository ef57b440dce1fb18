"""Linear models: classifiers by noisy gradients, least squares by moments."""
