"""Analyses of motions: sections, limit cycles, continuation, basins, Lyapunov exponents, orders of convergence."""
