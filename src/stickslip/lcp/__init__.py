"""Linear complementarity problems: arrays only, no mechanics."""
