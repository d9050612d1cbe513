"""Complementarity problems: arrays only, no mechanics."""
