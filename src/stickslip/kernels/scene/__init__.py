"""The compiled step of a scene: broad and narrow phase, contact problem of each island, update.

One group of machine code (see `compiled.sources_hash`).  The arrays of a scene travel as the named tuples of `layout`;
what a scene does not have (hulls, polygons, joints, springs) is None there, and Numba leaves its code out.
"""
