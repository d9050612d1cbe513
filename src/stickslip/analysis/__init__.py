"""What a trajectory tells: impacts, contact configurations, convergence."""
