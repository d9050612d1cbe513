"""Linear complementarity problems: arrays only, no mechanics."""

from stickslip.lcp.problems import LCPSolution
from stickslip.lcp.solve import classify_matrix, enumerate_lcp, solve_lcp, solve_mlcp

__all__ = ["LCPSolution", "classify_matrix", "enumerate_lcp", "solve_lcp", "solve_mlcp"]
