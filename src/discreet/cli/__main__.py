"""`python -m discreet.cli`."""

from discreet.cli import main

main()
