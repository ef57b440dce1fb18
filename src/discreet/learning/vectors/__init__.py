"""Rows as points: groups, directions, neighbours, classes as ellipsoids."""
