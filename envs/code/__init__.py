"""The code environment: write, repair and run code in a sandbox over many turns."""
