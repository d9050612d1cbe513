"""The compiled step of a scene: broad and narrow phase, contact problem of each island, update.

One group of machine code (see `compiled.sources_hash`).  The arrays of a scene travel as the named tuples of `layout`;
joints and springs that a scene does not have are None there, and Numba leaves their code out; pairs of shapes that it
does not have are not compiled (`narrow_pairs`).
"""
