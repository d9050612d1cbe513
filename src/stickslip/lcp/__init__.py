"""Linear complementarity problems: arrays only, no mechanics."""

from stickslip.lcp.mixed import solve_mlcp
from stickslip.lcp.problems import LCPSolution
from stickslip.lcp.solve import classify_matrix, enumerate_lcp, solve_lcp

__all__ = ["LCPSolution", "classify_matrix", "enumerate_lcp", "solve_lcp", "solve_mlcp"]
