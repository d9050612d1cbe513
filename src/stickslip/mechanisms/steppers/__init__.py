"""Time-stepping schemes of mechanisms, one per file: a data sheet and one step in plain NumPy."""
