"""Islands: groups of contacts that no block of W couples.  The hardness of a problem sits in one or two of them."""

from __future__ import annotations

import numpy as np

from stickslip.complementarity.friction.blocks import components
from stickslip.complementarity.friction.contacts import Contacts

LOOSEST = 1e-3


def islands(contacts: Contacts) -> tuple[Contacts, np.ndarray | None, np.ndarray]:
    """The contacts sorted by island, their order (None where nothing moved), and where each island begins."""
    order, offsets = components(contacts.indptr, contacts.indices)
    if len(offsets) == 2:
        return contacts, None, offsets
    return contacts.permuted(order), order, offsets


def island_tolerances(contacts: Contacts, offsets: np.ndarray, tol: float) -> np.ndarray:
    """Relative error that each island may keep so that the whole stays below `tol`.

    An island whose q is small against that of all may be solved less exactly: its share of tol |q| by contacts.
    """
    if len(offsets) == 2:
        return np.array([tol])
    whole = np.linalg.norm(contacts.q)
    own = np.sqrt(np.add.reduceat(contacts.q**2, contacts.dim * offsets[:-1]))
    share = 0.5 * np.sqrt(np.diff(offsets) / len(contacts))
    return np.maximum(tol, np.minimum(LOOSEST, share * tol * whole / np.maximum(own, 1e-300)))
