"""Workloads with structure: medians, quantiles, graphs."""
