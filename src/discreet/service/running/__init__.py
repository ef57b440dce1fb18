"""Orders run in killable children, within limits set from public facts."""
