"""Medians by smooth sensitivity and stability, and estimates from samples."""
