"""Files: trajectories and sweeps as netCDF, contact problems, model files, digests over all of them."""
