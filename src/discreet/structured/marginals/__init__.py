"""Marginal tables with the least noise."""
