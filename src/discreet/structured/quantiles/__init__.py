"""Quantiles of rows, of grids and of many groups."""
