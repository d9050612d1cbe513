"""The interior point's equations on velocities of bodies, for contacts of which W = J^T M^-1 J is known in its parts.

A tower of heavy boxes on light ones rocks so slowly that this mobility is 1e-14 of that of a single contact.  It also
has more contacts than it needs: mobilities of zero.  In W both are lost in rounding.  With the velocities p of the
bodies as further unknowns they are not,

    ( M   -J ) (dp)   (0)
    ( J^T  B ) (dx) = (b),        B = Phi H + delta

and J^T p + q tells the velocities at the contacts: as p is one velocity for all contacts of a body, they never
contradict each other, however large the impulses are.  So p is carried along and not computed from the impulses anew.

Towers of 250 boxes with masses 1e6 apart, 1,000 contacts, nine seeds, 1e-8: 8 solved, one ends at 4.7e-7.  With W
alone, of the first three one is solved, and two end at 2e-7 and 5e-7.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sparse_linalg

from stickslip.contact.constants import NEWTON_STEPS
from stickslip.contact.contacts import Contacts
from stickslip.contact.effort import factorise
from stickslip.contact.method import Best, Outcome
from stickslip.contact.newton import AlartCurnier
from stickslip.contact.residual import ROUNDINGS
from stickslip.projections import EPS

IN_VAIN = 5  # Newton steps that make nothing better, before it ends; as many short ones end `newton_iterations`
DELTA = ROUNDINGS * EPS  # what keeps redundant contacts regular: rounding of a sum of ones


def hyperstatic(contacts: Contacts) -> bool:
    """Whether the contacts have more rows than their bodies have velocities, so that W is singular."""
    if contacts.bodies is None:
        return False
    M, J = contacts.bodies.directions(contacts.dim)
    return J.shape[1] > M.shape[0]


class BodyEquations:
    """M and J, scaled by the roots of the masses; `units` (n d,) times x are the impulses that J is for.

    rest (n d,): what W has on its diagonal besides J^T M^-1 J.
    """

    def __init__(self, contacts: Contacts, units: np.ndarray, rest: np.ndarray) -> None:
        assert contacts.bodies is not None
        M, J = contacts.bodies.directions(contacts.dim)
        light = sp.diags(1.0 / np.sqrt(M.diagonal()))
        self.M = (light @ M @ light).tocsc()
        self.J = (light @ J @ sp.diags(units)).tocsr()
        self.JT, self.rest, self.dim = self.J.T.tocsr(), rest, contacts.dim
        self.solve_mass = factorise(self.M).solve

    def motion(self, x: np.ndarray) -> np.ndarray:
        """p = M^-1 J x."""
        return self.solve_mass(self.J @ x)

    def velocity(self, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """W x."""
        return self.JT @ p + self.rest * x

    def solver(self, C: np.ndarray | None, B: np.ndarray) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """b -> dx, dp with C W dx + B dx = b; C and B have a block (d, d) for each contact, None is the identity."""
        n, bodies = len(B), self.M.shape[0]
        places = np.arange(n), np.arange(n + 1)
        shape = (n * self.dim, n * self.dim)
        left, own = self.JT, sp.diags(self.rest)
        if C is not None:
            each = sp.bsr_matrix((C, *places), shape=shape).tocsr()
            left, own = each @ left, each @ own
        blocks = sp.bsr_matrix((B, *places), shape=shape) + own
        K = sp.bmat([[self.M, -self.J], [left, blocks]], format="csc")
        factors = sparse_linalg.splu(K)  # tower of 1,000 contacts: 4 ms; symmetric ordering, as for W, 17 to 29 ms

        def solve(b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            right = np.concatenate([np.zeros(bodies), b])
            z = factors.solve(right)
            z += factors.solve(right - K @ z)  # entries are many powers of ten apart
            return z[bodies:], z[:bodies]

        return solve


def newton_on_bodies(contacts: Contacts, r: np.ndarray, tol: float) -> Outcome:
    """Newton of Alart and Curnier from impulses whose states are nearly right: full steps, on velocities of bodies."""
    n, d = len(contacts), contacts.dim
    form, equations = AlartCurnier(contacts), BodyEquations(contacts, np.ones(n * d), np.zeros(n * d))
    best, vain = Best(r, contacts.error(r)), 0
    for k in range(NEWTON_STEPS):
        u = equations.velocity(r, equations.motion(r)) + contacts.q
        known, b = form.system(u, r)
        right = np.where(np.repeat(form.active, d), b, known)
        try:
            dr, _ = equations.solver(form.C, form.E + DELTA * form.C)(right)
        except RuntimeError:
            return Outcome(best.r, best.error, k)
        r = r + dr
        error = contacts.error(r)
        vain = 0 if error < best.error else vain + 1
        best.offer(r, error)
        if best.error <= tol or vain == IN_VAIN:
            break
    return Outcome(best.r, best.error, k + 1)
