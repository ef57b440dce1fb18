"""Private learners: those of the theory, and the estimators people use."""
