"""The checks of the query front end: each with the broken twins it must catch."""
