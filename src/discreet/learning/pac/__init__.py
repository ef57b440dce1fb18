"""Learners of the theory: any finite class, thresholds, parities, and how they are made better."""
