"""The version, on its own: the build reads this file without importing the package."""

__version__ = "0.2.0"
