"""Figures and films of runs and of analyses; matplotlib is loaded by this folder and by `papers` only."""
