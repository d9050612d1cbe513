"""Files: trajectories and ensembles as netCDF, contact problems, model files, digests over all of them."""
