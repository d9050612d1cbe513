"""Many motions of one system: parameters and starts on grids or at random, on cores, on a GPU, on a cluster."""
