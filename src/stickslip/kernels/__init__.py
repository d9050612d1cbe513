"""The compiled core: generated kernels, and the folder that keeps them."""
