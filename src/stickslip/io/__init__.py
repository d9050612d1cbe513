"""Files: trajectories as netCDF."""
