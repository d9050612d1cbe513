"""Settings that every test shares."""

import os

from hypothesis import settings

# No window, wherever the tests run; set before anything imports matplotlib.
os.environ.setdefault("MPLBACKEND", "Agg")

# The first example of a property compiles its kernels: a deadline would measure Numba, not us.
settings.register_profile("stickslip", deadline=None, print_blob=True)
settings.load_profile("stickslip")
