"""Counts of a graph, with one edge or one vertex hidden."""
