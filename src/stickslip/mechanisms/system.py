"""Questions that every mechanical system answers, and how its generated functions are evaluated in plain NumPy.

A system is the equality of measures [GS05] eq. (6)

    M(q, t) du - h(q, u, t) dt - sum_i (w_Ni dLambda_Ni + w_Ti dLambda_Ti) = 0

with gaps g_Ni(q, t) and relative velocities gamma = w^T u + w_hat ([GS05] eq. (10)).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip import codes
from stickslip.checks import Array, counted, finite, on_top, real_array, require_unique, unknown_name
from stickslip.contact.sections import CrossSection
from stickslip.laws.friction import FrictionLaw
from stickslip.mechanisms.by_differences import DRIFT_BY_DIFFERENCES, JACOBIAN_BY_DIFFERENCES, SIZES_OF_COORDINATES
from stickslip.mechanisms.plain_functions import PlainFunctions
from stickslip.mechanisms.ranges import Ranges

CONTACT = codes.CONTACT
"""Unilateral contact: active when g_N <= 0; tangential part optional."""
CLUTCH = codes.CLUTCH
"""Upr on velocity level (sprag clutch): the normal row is always active, its gap reads 0."""
FRICTION = codes.FRICTION
"""Dry friction joint with a load-independent bound: only a tangential row, always active."""
SPRING = codes.SPRING
"""Sgn on displacement level (prestressed spring): -lambda_T in threshold * Sgn(x), x in the gap slot."""
TANGENT = codes.TANGENT
"""Second tangent of the contact one row before, which is then one in space: active when that contact is."""
CONSTRAINT = codes.CONSTRAINT
"""Equation g(q, t) = 0 that always holds, g in the gap slot: gamma_T = dg/dt = 0, with lambda_T of either sign."""
NONHOLONOMIC = codes.NONHOLONOMIC
"""Equation of the velocities that always holds, gamma_T = 0, such as rolling: a constraint whose gap reads 0."""

KIND_NAMES = ("contact", "clutch", "friction", "spring", "tangent", "constraint", "velocity constraint")

LAWS = ("friction", "restitution_normal", "restitution_tangential", "threshold")
"""The coefficients of a contact, in the order of `laws`."""


class System:
    """Base class of all systems with f coordinates and n contacts; a subclass hands its data to `__init__`.

    Contract for whoever adds a kind of system: `source` is Python text that defines the functions

        mass(q, t, p, M)                        M (f, f), both triangles
        force(q, u, t, p, h)                    h (f,)
        gap(q, t, p, g)                         g (n,): g_N; the displacement of a SPRING, g of a CONSTRAINT, else 0
        dynamics(q, u, t, p, M, h, g)           the three above in one; leaves M alone if `mass_constant`
        geometry(q, t, p, W_N, W_T, w_hat)      rows w_N, w_T (n, f); w_hat (n, 2): normal, tangential
        laws(p, mu, eps_N, eps_T, threshold)    (n,) each
        energy(q, u, t, p, E)                   E = (kinetic, potential) [J]; potential is nan where unknown
        friction(p, speed, mu)                  only with `friction_laws`: coefficients of contacts that slip with
                                                speed (n,) [m/s]; mu of `laws` are the static ones
        gates(q, t, p, c)                       only with `gated`: c (n,), a contact closes only while c > 0
        law_values(p, c)                        only with `friction_laws`: the laws' parameters, one after the other

    and, where coefficients depend on the state (`state_laws`), which are nan in `laws`,

        laws_at(q, t, p, strikes, mu, eps_N, eps_T, threshold)
                                                (n,) each; strikes are approach [m/s] and inertia [kg], (n,) each, as in
                                                `RestitutionCurve`
        friction_at(q, t, p, speed, mu)         in place of `friction`
        law_values_at(q, t, p, c)               in place of `law_values`

    `sizes_source` text that defines

        sizes(q, t, p, s)                       s (n,): the sizes of the terms of the gaps of CONTACTs, by which their
                                                rounding errors are judged; here |g| and the coordinates

    and `jacobian_source` text that defines

        jacobian(q, u, t, p, K, C, work)        K = dh/dq, C = dh/du (f, f); work (2, f) is room for forces

    which implicit steppers put into their iteration matrix.  Here it takes central differences of `force`, good to
    about 1e-10 of the forces; that is a matter of the number of iterations, never of the result.  It may change q and u
    and puts them back.

    Each is decorated by `@dev`, writes every entry of its outputs, allocates nothing and uses only the names
    `math`, `dev`, `sincos` (both of an angle) and those in `inject`. `drift_source()` adds one more, which integrators
    on acceleration level need:

        drift(q, u, t, p, zeta)                 zeta (n, 2): d gamma/dt with u held, (dW/dt)^T u + d w_hat/dt

    Whoever executes the text supplies these names: the kernels as compiled functions for CPU and GPU, this class as
    plain Python for the reference engine.

    Attributes
    ----------
    name : str
    n_dof, n_contacts : int
    coordinate_names, velocity_names, contact_names, parameter_names : tuple of str
    contact_kinds : tuple of int
        CONTACT, CLUTCH, FRICTION, SPRING, TANGENT, CONSTRAINT or NONHOLONOMIC.
    parameter_values : (n_parameters,) array
        Default parameters, in the order of the vector `p`.
    units : dict
        Units of coordinates, velocities and parameters by name, where given.
    mass_constant : bool
        M depends on the parameters only.
    directions_constant : bool
        M, w_N, w_T and w_hat depend on the parameters only.
    force_depends_on_u : bool
        False only if h is known to be free of u.
    inject : dict
        Functions that `source` calls by name (in a system that was derived symbolically only those of friction laws).
    injected_into : sequence of str or None
        The functions of `source` that call them; None: any.
    friction_laws : tuple of FrictionLaw or None
        Laws of the contacts whose friction depends on their slip.
    state_laws : dict
        The coefficients that depend on coordinates, time or the approach, as text: (name in `LAWS`, contact) -> text.
        A subclass whose `source` has `laws_at` sets it before it calls `__init__`.
    positive : tuple of str
        Parameters that must stay positive: masses, lengths, clearances.
    forced : bool
        Forces without a potential, or energies, gaps and slips that depend on time, may do work; False only where it is
        known that none of them is there.
    gated : tuple of bool
        Contacts that close only under a condition, see `Contact.closes_when`; a subclass that has them sets it.
    sections : tuple of CrossSection or None
        Sections of the friction cones of contacts with two tangents; None: the disc.  A subclass that has them sets it.
    """

    state_laws: Mapping[tuple[str, int], str] = MappingProxyType({})

    def __init__(
        self,
        *,
        name: str,
        coordinate_names: Sequence[str],
        velocity_names: Sequence[str],
        contact_names: Sequence[str],
        contact_kinds: Sequence[int],
        parameters: Mapping[str, float],
        source: str,
        mass_constant: bool = False,
        directions_constant: bool = False,
        force_depends_on_u: bool = True,
        units: Mapping[str, str] | None = None,
        inject: Mapping[str, Callable[..., Any]] | None = None,
        positive: Iterable[str] = (),
        injected_into: Sequence[str] | None = None,
        friction_laws: Sequence[FrictionLaw | None] | None = None,
        forced: bool = True,
    ) -> None:
        self.name = name
        self.coordinate_names = tuple(coordinate_names)
        self.velocity_names = tuple(velocity_names)
        self.contact_names = tuple(contact_names)
        self.contact_kinds = tuple(contact_kinds)
        self.parameter_names = tuple(parameters)
        self.n_dof = len(self.coordinate_names)
        self.n_contacts = len(self.contact_names)
        self.mass_constant = mass_constant
        self.directions_constant = directions_constant
        self.force_depends_on_u = force_depends_on_u
        self.units = dict(units or {})
        self.inject = dict(inject or {})
        self.injected_into = injected_into
        self.friction_laws = tuple(friction_laws or [None] * self.n_contacts)
        self._source = source
        self._plain_functions = PlainFunctions(self)
        self.positive = tuple(positive)
        self.forced = forced
        self.gated = (False,) * self.n_contacts
        self.sections: tuple[CrossSection | None, ...] = (None,) * self.n_contacts

        if self.n_dof == 0:
            raise ValueError(f"system {name!r} needs at least one coordinate, got none.")
        if len(self.velocity_names) != self.n_dof:
            raise ValueError(f"velocities must be {self.n_dof}, one per coordinate, got {len(self.velocity_names)}.")
        require_unique("coordinate, velocity and parameter names", self._quantities())
        require_unique("contact names", self.contact_names)
        unknown = [key for key in self.units if key not in self._quantities()]
        if unknown:
            raise ValueError(f"units: {unknown_name('quantity', unknown[0], self._quantities())}")
        self.parameter_values = np.array([finite(value, key) for key, value in parameters.items()], dtype=float)
        self.parameter_values.flags.writeable = False
        for key in self.positive:
            if key not in self.parameter_names:
                raise ValueError(f"positive: {unknown_name('parameter', key, self.parameter_names)}")
        self.check_parameters(self.parameter_values)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.name!r}: {counted(self.n_dof, 'coordinate')}, "
            f"{counted(self.n_contacts, 'contact')}, {counted(len(self.parameter_names), 'parameter')}>"
        )

    def _quantities(self) -> tuple[str, ...]:
        return self.coordinate_names + self.velocity_names + self.parameter_names

    @property
    def spatial(self) -> np.ndarray:
        """Numbers of the contacts with two tangents, (s,); the row behind each is its second tangent."""
        return np.flatnonzero(self.kinds == TANGENT) - 1

    def require_planar(self, what: str) -> None:
        """ValueError where a contact has two tangents, which `what` (a noun) does not know."""
        if len(self.spatial):
            name = self.contact_names[int(self.spatial[0])]
            raise ValueError(f"{what} knows contacts with one direction of slip; contact {name!r} has two tangents.")

    @cached_property
    def kinds(self) -> np.ndarray:
        """`contact_kinds` as an array, (n,) int."""
        found = np.array(self.contact_kinds, dtype=int)
        found.flags.writeable = False
        return found

    @cached_property
    def constraints(self) -> np.ndarray:
        """Numbers of the constraints among the contacts, (m,)."""
        found = np.flatnonzero(self.kinds >= CONSTRAINT)
        found.flags.writeable = False
        return found

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the constraints; they are among the names of the contacts as well."""
        return tuple(self.contact_names[k] for k in self.constraints)

    def source(self) -> str:
        """Text of the model functions; equal text means equal functions, injected ones included."""
        return self._source

    def sizes_source(self) -> str:
        """Text of `sizes`; here for gaps of which nothing is known."""
        return SIZES_OF_COORDINATES

    def jacobian_source(self) -> str:
        """Text of `jacobian`; made on request, since only implicit steppers need it."""
        return JACOBIAN_BY_DIFFERENCES.replace("N_COORDINATES", str(self.n_dof))

    def drift_source(self) -> str:
        """Text of `drift`; here by differences along the motion, for systems whose directions are functions."""
        return DRIFT_BY_DIFFERENCES

    @property
    def branched(self) -> System:
        """The system with the branches of its kinks held, see `mechanisms.kinks`; the system itself where it has none.

        Its parameters are those of the system, then one per kink, +1 or -1.
        """
        return self

    kink_contacts: tuple[tuple[int, ...], ...] = ()
    """Of a system whose branches are held: the contacts that each kink is part of."""
    kink_gates: tuple[bool, ...] = ()
    """Of a system whose branches are held: whether each kink is the condition of a contact, `Contact.closes_when`."""

    kink_levels: Ranges | None = None
    """Of a system whose branches are held: ranges of the levels of its kinks by (q, u, t)."""

    def kinks(self, q: ArrayLike, t: float, p: Array) -> Array:
        """Levels of the kinks, (number of kinks,): a branch is +1 where its level is positive."""
        k = np.empty(len(self.kink_contacts))
        self._evaluate("kinks", (q, t, p), (k,))
        return k

    @property
    def fingerprint(self) -> str:
        """Content hash of the model functions, the injected ones included."""
        return hashlib.sha256(self._source.encode()).hexdigest()[:16]

    # -- parameters ------------------------------------------------------------------------------------------

    def parameter_vector(self, params: Mapping[Any, float] | None = None) -> Array:
        """Return the parameter vector p: the defaults with `params` (by name or symbol) put in, checked."""
        p = self.parameter_values.copy()
        for key, value in on_top(None, params).items():
            name = str(key)
            if name not in self.parameter_names:
                raise ValueError(f"system {self.name!r}: {unknown_name('parameter', name, self.parameter_names)}")
            p[self.parameter_names.index(name)] = finite(value, name)
        if params:
            self.check_parameters(p)
        return p

    def check_parameters(self, p: Array) -> None:
        """ValueError unless parameters that must be positive are, and every law's numbers are in their range."""
        for key in self.positive:
            value = p[self.parameter_names.index(key)]
            if not value > 0.0:
                raise ValueError(f"parameter {key!r} of system {self.name!r} must be positive, got {value:g}.")
        wrong = self._wrong_law(self.laws(p), range(self.n_contacts))
        if wrong:
            raise ValueError(f"{wrong}.")
        if self.has_friction_laws and not self.state_laws:
            self._check_friction_laws("law_values", (p,))

    def _wrong_law(self, laws: tuple[Array, ...], contacts: Iterable[int], where: str = "") -> str:
        """Faults of coefficients of contacts, in words; those that depend on the state count with `where`."""
        for law, values in zip(LAWS, laws, strict=True):
            for k in contacts:
                value = values[k]
                if ((law, k) in self.state_laws) and not where:
                    continue
                unit = law.startswith("restitution")
                if not 0.0 <= value <= (1.0 if unit else math.inf) or math.isinf(value):
                    rule = "lie in [0, 1]" if unit else "be finite and not negative"
                    text = f" = {self.state_laws[law, k]}" if (law, k) in self.state_laws else ""
                    return f"{law}{text} of contact {self.contact_names[k]!r} must {rule}, got {value:g}{where}"
        return ""

    def _check_friction_laws(self, function: str, where: tuple[Any, ...]) -> None:
        laws = [
            (name, law) for name, law in zip(self.contact_names, self.friction_laws, strict=True) if law is not None
        ]
        c = np.empty(sum(len(law.parameters) for _, law in laws))
        self._evaluate(function, where, (c,))
        first = 0
        for name, law in laws:
            values = dict(zip(law.parameters, c[first : first + len(law.parameters)].tolist(), strict=True))
            law.check(values, f"{type(law).__name__} of contact {name!r}")
            first += len(values)

    # -- friction that depends on slip -------------------------------------------------------------------------

    @cached_property
    def has_friction_laws(self) -> bool:
        """Whether the friction of a contact depends on its slip."""
        return any(law is not None for law in self.friction_laws)

    @property
    def sliding_codes(self) -> tuple[int, ...]:
        """Per contact: 0 constant friction; 1 or, with graze="grab", 2 for friction that depends on slip."""
        return tuple(0 if law is None else (2 if law.grabs else 1) for law in self.friction_laws)

    def sliding_friction(
        self, speed: ArrayLike, p: Array | None = None, place: tuple[Array, float] | None = None
    ) -> Array:
        """Coefficients mu [-] of contacts that slip with `speed` = |gamma_T| [m/s], shape (n,); checked.

        place : (q, t), needed where coefficients depend on the state.
        """
        p, speeds = self._parameters(p), np.asarray(speed, dtype=float)
        if not self.has_friction_laws:
            return self.laws(p)[0] if place is None else self.laws_at(*place, p)[0]
        mu = np.empty(self.n_contacts)
        if not self.state_laws:
            self._evaluate("friction", (p, speeds), (mu,))
        elif place is None:
            raise ValueError(f"the friction of system {self.name!r} depends on the state: give place=(q, t).")
        else:
            self._evaluate("friction_at", (*place, p, speeds), (mu,))
        for name, value, v in zip(self.contact_names, mu, speeds, strict=True):
            if not 0.0 <= value < math.inf:
                raise ValueError(
                    f"friction of contact {name!r} must be finite and not negative, got {value:g} at a slip of "
                    f"{v:g} m/s."
                )
        return mu

    # -- evaluation in plain Python, for the reference engine ------------------------------------------------

    def mass(self, q: ArrayLike, t: float = 0.0, p: Array | None = None) -> Array:
        """Mass matrix M(q, t), shape (f, f)."""
        M = np.empty((self.n_dof, self.n_dof))
        self._evaluate("mass", (q, t, self._parameters(p)), (M,))
        return M

    def force(self, q: ArrayLike, u: ArrayLike, t: float = 0.0, p: Array | None = None) -> Array:
        """Forces h(q, u, t): gyroscopic terms and all classical generalised forces, shape (f,)."""
        h = np.empty(self.n_dof)
        self._evaluate("force", (q, u, t, self._parameters(p)), (h,))
        return h

    def jacobian(self, q: ArrayLike, u: ArrayLike, t: float = 0.0, p: Array | None = None) -> tuple[Array, Array]:
        """Derivatives of the forces, K = dh/dq and C = dh/du, shape (f, f) each."""
        f = self.n_dof
        K, C, work = np.empty((f, f)), np.empty((f, f)), np.empty((2, f))
        point = np.array(q, dtype=float), np.array(u, dtype=float), t, self._parameters(p)
        self._evaluate("jacobian", point, (K, C, work))
        return K, C

    @property
    def gap_units(self) -> tuple[str, ...]:
        """Units of the gaps, one per contact: metres, but for stops on a coordinate, which have the coordinate's."""
        return ("m",) * self.n_contacts

    def gap(self, q: ArrayLike, t: float = 0.0, p: Array | None = None) -> Array:
        """Gaps g_N(q, t), shape (n,); a prestressed spring's displacement stands in its place."""
        g = np.empty(self.n_contacts)
        self._evaluate("gap", (q, t, self._parameters(p)), (g,))
        return g

    def gates(self, q: ArrayLike, t: float = 0.0, p: Array | None = None) -> Array:
        """Levels c (n,) of `Contact.closes_when`: an open contact can close only while c > 0; 1 where it always can."""
        c = np.ones(self.n_contacts)
        if any(self.gated):
            self._evaluate("gates", (q, t, self._parameters(p)), (c,))
        return c

    def start_gap(self, q: ArrayLike, t: float = 0.0, p: Array | None = None) -> Array:
        """Gaps of a start, (n,): infinite for contacts that are behind their surface and may not close.

        Behind is deeper than `codes.BEHIND`: less is the rounding of a printed state, and the contact is closed.
        """
        g = self.gap(q, t, p)
        if any(self.gated):
            g[np.array(self.gated) & (g < -codes.BEHIND) & (self.gates(q, t, p) <= 0.0)] = math.inf
        return g

    def gap_sizes(self, q: ArrayLike, t: float = 0.0, p: Array | None = None) -> Array:
        """Sizes of the terms that gaps are the sums of, shape (n,): their rounding errors are a few 1e-16 of these."""
        s = np.empty(self.n_contacts)
        self._evaluate("sizes", (q, t, self._parameters(p)), (s,))
        return s

    def geometry(self, q: ArrayLike, t: float = 0.0, p: Array | None = None) -> tuple[Array, Array, Array]:
        """Force directions as rows: W_N (n, f), W_T (n, f), and w_hat (n, 2) with columns normal, tangential."""
        W_N = np.empty((self.n_contacts, self.n_dof))
        W_T = np.empty((self.n_contacts, self.n_dof))
        w_hat = np.empty((self.n_contacts, 2))
        self._evaluate("geometry", (q, t, self._parameters(p)), (W_N, W_T, w_hat))
        return W_N, W_T, w_hat

    def drift(self, q: ArrayLike, u: ArrayLike, t: float = 0.0, p: Array | None = None) -> Array:
        """d gamma/dt with u held, zeta = (dW/dt)^T u + d w_hat/dt, shape (n, 2): normal, tangential."""
        zeta = np.zeros((self.n_contacts, 2))
        self._evaluate("drift", (q, u, t, self._parameters(p)), (zeta,))
        return zeta

    def laws(self, p: Array | None = None) -> tuple[Array, Array, Array, Array]:
        """Friction mu [-], restitutions eps_N, eps_T [-] and friction threshold [N], shape (n,) each.

        Coefficients that depend on the state are nan here; `laws_at` has them.
        """
        mu, eps_N, eps_T, threshold = (np.empty(self.n_contacts) for _ in range(4))
        self._evaluate("laws", (self._parameters(p),), (mu, eps_N, eps_T, threshold))
        return mu, eps_N, eps_T, threshold

    def laws_at(
        self, q: ArrayLike, t: float, p: Array | None = None, u: ArrayLike | None = None,
        of: Iterable[int] | None = None,
    ) -> tuple[Array, Array, Array, Array]:  # fmt: skip
        """The coefficients of `laws` at a state; u (f,) are the velocities before an impact, None: nothing approaches.

        of : contacts that take part, whose coefficients must make sense: LawError where one does not
        """
        p = self._parameters(p)
        if not self.state_laws:
            return self.laws(p)
        approach, inertia = self._approach(q, t, p, u)
        mu, eps_N, eps_T, threshold = found = tuple(np.empty(self.n_contacts) for _ in range(4))
        self._evaluate("laws_at", (q, t, p, (approach, inertia)), found)
        if of is not None:
            wrong = self._wrong_law(found, of, f" at q = {_short(np.asarray(q, dtype=float))}, t = {t:g}")
            if wrong:
                raise LawError(f"{wrong}.")
        return mu, eps_N, eps_T, threshold

    def _approach(self, q: ArrayLike, t: float, p: Array, u: ArrayLike | None) -> tuple[Array, Array]:
        """Approach speeds max(0, -gamma_N) [m/s] and inertias 1 / (w_N^T M^-1 w_N) [kg], (n,); see `RestitutionCurve`.

        With constraints P stands in place of M^-1, see `mechanisms.inertia`.  The inertia of a contact without normal
        direction is infinite.
        """
        from stickslip.mechanisms.inertia import Inertia  # which imports this module

        directions = W_N, _, w_hat = self.geometry(q, t, p)
        inertia_here = Inertia.at(self, np.asarray(q, dtype=float), t, p, None, directions)
        alpha = np.sum(W_N * inertia_here.directions(W_N).T, axis=1)
        inertia = np.where(alpha > 0.0, 1.0 / np.where(alpha > 0.0, alpha, 1.0), math.inf)
        if u is None:
            return np.zeros(self.n_contacts), inertia
        return np.maximum(0.0, -(W_N @ np.asarray(u, dtype=float) + w_hat[:, 0])), inertia

    def energy(self, q: ArrayLike, u: ArrayLike, t: float = 0.0, p: Array | None = None) -> tuple[float, float]:
        """Kinetic and potential energy [J]."""
        E = np.empty(2)
        self._evaluate("energy", (q, u, t, self._parameters(p)), (E,))
        return float(E[0]), float(E[1])

    def _parameters(self, p: Array | None) -> Array:
        return self.parameter_values if p is None else p

    def _evaluate(self, function: str, inputs: tuple[Any, ...], outputs: tuple[Array, ...]) -> None:
        self._plain_functions.evaluate(function, inputs, outputs)

    # -- contacts whose features change, see `run.scene_system` ------------------------------------------------

    has_features = False
    """Whether contacts have features that change; which of them are held is part of the parameters p."""

    def counts(self, q: Array, p: Array) -> Array:
        """How far inside the held features are the place of contact, (n,): below 0 the contact has moved off them."""
        return np.ones(self.n_contacts)

    def longest_step(self, q: Array, u: Array, du: Array) -> float:
        """Longest step of an integrator [s] whose samples show every contact that closes on the way."""
        return math.inf

    def held(self, q: Array, p: Array, closed: np.ndarray, tol: float, left: np.ndarray | None = None) -> Array:
        """Parameters with the features of closed contacts (n,) held, and those of gaps up to `tol` [m].

        left : contacts (n,) that leave their features, which are not taken again
        """
        return p

    def holding(self, p: Array) -> np.ndarray:
        """Which contacts have a feature of their own, (n,) bool; the others show features that are held elsewhere."""
        return np.ones(self.n_contacts, bool)

    def released(self, p: Array, closed: np.ndarray) -> Array:
        """Parameters that hold the features of closed contacts (n,) alone."""
        return p

    # -- checks ----------------------------------------------------------------------------------------------

    def check(
        self,
        q0: ArrayLike,
        u0: ArrayLike,
        params: Mapping[Any, float] | None = None,
        t: float = 0.0,
        names: tuple[str, str] = ("q0", "u0"),
    ) -> tuple[Array, Array, Array]:
        """Check the system at a state and return (q0, u0, p) as fresh arrays.

        Sizes, finite gaps, forces and directions, and a symmetric positive definite mass matrix are required;
        the first rule that is broken is raised as one line.  `names` is what the caller calls the two arrays.
        """
        q, u = self._states(q0, u0, names)
        p = self.parameter_vector(params)
        where = f"at q = {_short(q)}, t = {t:g}"

        M = self.mass(q, t, p)
        _require_finite(M.ravel(), [f"mass[{i}, {j}]" for i in range(self.n_dof) for j in range(self.n_dof)], where)
        asymmetry = np.abs(M - M.T)
        if np.any(asymmetry > 1e-12 * np.sqrt(np.abs(np.outer(np.diag(M), np.diag(M))))):
            i, j = np.unravel_index(int(asymmetry.argmax()), M.shape)
            raise ValueError(f"mass matrix must be symmetric, got [{i}, {j}] = {M[i, j]:g} and {M[j, i]:g} {where}.")
        try:
            np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"mass matrix must be positive definite, its smallest eigenvalue is "
                f"{np.linalg.eigvalsh(M)[0]:.3g} {where}; check masses, inertias and redundant coordinates."
            ) from None

        _require_finite(self.force(q, u, t, p), [f"force on {name!r}" for name in self.coordinate_names], where)
        _require_finite(self.gap(q, t, p), [f"gap of contact {name!r}" for name in self.contact_names], where)
        for rows, label in zip(self.geometry(q, t, p), ("normal", "tangential", "drift"), strict=True):
            total = rows.sum(axis=1)
            _require_finite(total, [f"{label} direction of contact {name!r}" for name in self.contact_names], where)
        if self.state_laws:
            self._check_laws_at(q, u, t, p)
        return q, u, p

    def _check_laws_at(self, q: Array, u: Array, t: float, p: Array) -> None:
        """LawError where a closed contact has a coefficient that makes no sense at the state."""
        g, kinds = self.gap(q, t, p), self.contact_kinds
        closed = [k for k in range(self.n_contacts) if kinds[k] != CONTACT or g[k] <= 0.0]
        self.laws_at(q, t, p, u, closed)
        if self.has_friction_laws and closed:
            self._check_friction_laws("law_values_at", (q, t, p))

    def _states(self, q: ArrayLike, u: ArrayLike, names: tuple[str, str]) -> tuple[Array, Array]:
        return (
            self._state(q, names[0], "coordinate", self.coordinate_names),
            self._state(u, names[1], "velocity", self.velocity_names),
        )

    def _state(self, values: ArrayLike, label: str, kind: str, names: tuple[str, ...]) -> Array:
        if type(values) is np.ndarray and values.dtype == float:  # its words would take longer than all checks
            state = values.copy()
        else:
            state = real_array(
                values, f"{label} must be {self.n_dof} numbers, one per {kind} ({', '.join(names)}), got {values!r}."
            )
        if state.shape != (self.n_dof,):
            raise ValueError(
                f"{label} must have shape ({self.n_dof},), one per {kind} ({', '.join(names)}), got {state.shape}."
            )
        where = "in the initial state" if label in ("q0", "u0") else "in the state given"
        _require_finite(state, [f"{label} of {name!r}" for name in names], where)
        return state


class LawError(ValueError):
    """A coefficient that depends on the state has a value that makes no law."""


MOST_CONTACTS = 3000
"""Contacts of a system in generalised coordinates: its LCP is dense, 3 rows a contact."""


def require_few_contacts(count: int) -> None:
    """Raise, before anything is derived, where the dense contact problem could not be held or solved."""
    if count > MOST_CONTACTS:
        size = 8.0 * (3 * count) ** 2 / 1e9
        raise ValueError(
            f"{count} contacts would make an LCP of {3 * count} rows, {size:.3g} GB; a system in generalised "
            f"coordinates may have {MOST_CONTACTS}. Bodies with many contacts are a Scene, which is sparse."
        )


def require_system(value: Any) -> None:
    """Raise ValueError unless the argument `system` is one."""
    if not isinstance(value, System):
        hint = "; give its .system" if isinstance(getattr(value, "system", None), System) else ""
        if not hint and callable(getattr(value, "simulate", None)):
            hint = "; it runs by its own .simulate"
        raise ValueError(f"system must be a System such as LagrangianSystem, got {type(value).__name__}{hint}.")


def _require_finite(values: Array, labels: Sequence[str], where: str) -> None:
    for label, value in zip(labels, values, strict=True):
        if not math.isfinite(value):
            raise ValueError(f"{label} must be finite, got {value} {where}.")


def _short(values: Array) -> str:
    shown = ", ".join(f"{value:.6g}" for value in values[:6])
    return f"({shown}{', ...' if len(values) > 6 else ''})"
