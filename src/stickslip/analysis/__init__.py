"""What motions tell: sections, limit cycles, continuation, basins, Lyapunov exponents, orders of convergence."""
