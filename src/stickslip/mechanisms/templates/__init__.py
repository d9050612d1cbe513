"""Text of generated modules, in parts that the generator joins, see `PARTS` in `mechanisms.generate`.

Each part is a module of its own as well, for a point mass above a floor.
"""
