"""Statistical queries with a trusted curator, and learners that ask nothing else."""
