"""Running counts."""
