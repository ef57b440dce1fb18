"""Tests of discreet.data."""
