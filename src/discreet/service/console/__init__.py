"""The console: pages for stewards, analysts and auditors, rendered on the server."""
