"""The equations of a mechanism as SymPy expressions, and how they are shown as text and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import sympy as sp
from sympy.simplify.fu import TR10i

from stickslip.mechanisms.derivation import Expr, Symbols, expand
from stickslip.mechanisms.system import CLUTCH, CONSTRAINT, CONTACT, FRICTION, LAWS, NONHOLONOMIC, SPRING, TANGENT


@dataclass(frozen=True)
class Equations:
    """The derived equations of a system with f coordinates and n contacts, as SymPy objects.

    M du - h dt - sum_i (w_Ni dLambda_Ni + w_Ti dLambda_Ti) = 0 and gamma_i = w_i^T u + w_hat_i,
    [GS05] eqs. (6)-(10).

    The directions are rows here: W_N[i, :] is w_Ni^T.
    """

    name: str
    q: Symbols
    u: Symbols
    t: Expr
    parameters: Symbols
    M: sp.ImmutableMatrix  # (f, f)
    h: sp.ImmutableMatrix  # (f, 1)
    contact_names: tuple[str, ...]
    kind: tuple[int, ...]
    g_N: sp.ImmutableMatrix  # (n, 1)
    W_N: sp.ImmutableMatrix  # (n, f)
    w_hat_N: sp.ImmutableMatrix  # (n, 1)
    W_T: sp.ImmutableMatrix  # (n, f)
    w_hat_T: sp.ImmutableMatrix  # (n, 1)
    mu: Symbols
    eps_N: Symbols
    eps_T: Symbols
    threshold: Symbols
    kinetic: Expr
    potential: Expr
    mu_slip: Symbols = ()  # (n,) coefficients while contact k slips with speed[k]; empty where all are constant
    law_values: Symbols = ()  # parameters of the friction laws, one after the other
    gates: Symbols = ()  # (n,) contact k closes only while gates[k] > 0; empty where all may close at any time

    @property
    def state_laws(self) -> dict[tuple[str, int], str]:
        """The coefficients that depend on the state, by their names and the numbers of their contacts, as text.

        State is whatever changes during a run: coordinates, time, and how the bodies approach.
        """
        found = {}
        for k in range(len(self.kind)):
            laws = zip(LAWS, (self.mu, self.eps_N, self.eps_T, self.threshold), strict=True)
            for name, values in laws:
                if self._moves(values[k]):
                    found[name, k] = str(readable(values[k], k))
            if self.mu_slip and self._moves(self.mu_slip[k]):
                found.setdefault(("friction", k), str(readable(self.mu_slip[k], k)))
        return found

    def _moves(self, law: Expr) -> bool:
        """Whether a coefficient depends on the state."""
        free = law.free_symbols
        return not free.isdisjoint({*self.q, self.t}) or any(x.name.startswith(("approach[", "inertia[")) for x in free)

    @property
    def depends_on_time(self) -> bool:
        """Time stands in an energy, a gap or a slip: a drive or a moving wall can do work."""
        parts = (self.kinetic, self.potential, self.g_N, self.w_hat_N, self.w_hat_T)
        return any(self.t in part.free_symbols for part in parts) or not (
            self.w_hat_N.is_zero_matrix and self.w_hat_T.is_zero_matrix
        )

    @property
    def mass_constant(self) -> bool:
        """M depends on the parameters only."""
        return self.M.free_symbols.isdisjoint({*self.q, self.t})

    @property
    def directions_constant(self) -> bool:
        """M, the directions and the drifts depend on the parameters only."""
        moving = {*self.q, self.t}
        rows = (self.W_N, self.w_hat_N, self.W_T, self.w_hat_T)
        return self.mass_constant and all(x.free_symbols.isdisjoint(moving) for x in rows)

    @property
    def force_depends_on_u(self) -> bool:
        """h contains a velocity."""
        return not self.h.free_symbols.isdisjoint(self.u)

    def replaced(self, names: Mapping[Expr, Expr]) -> Equations:
        """Return these equations in other symbols."""
        changed: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, sp.Basic):
                changed[field.name] = value.xreplace(names)
            elif isinstance(value, tuple) and any(isinstance(x, sp.Basic) for x in value):
                changed[field.name] = tuple(x.xreplace(names) for x in value)
            else:
                changed[field.name] = value
        return Equations(**changed)

    def text(self) -> str:
        """The equations as plain text."""
        return _as_text(_tidy(self))

    def latex(self) -> str:
        """The equations as LaTeX, one display formula per line, for a document with amsmath."""
        return _as_latex(_tidy(self))

    def __str__(self) -> str:
        return self.text()

    def _repr_latex_(self) -> str:
        """One formula between dollar signs, which all notebooks draw; some of them know no `align*` without."""
        return f"$${self.latex().strip().replace('{align*}', '{aligned}')}$$"


# -- display -------------------------------------------------------------------------------------------------

_CONTACT_ROWS: tuple[tuple[int, str], ...] = (
    (CONTACT, "unilateral contact: -Lambda_N in Upr(xi_N)"),
    (CLUTCH, "one-way clutch: gamma_N >= 0"),
    (FRICTION, "dry friction: -lambda_T in threshold Sgn(gamma_T)"),
    (SPRING, "prestressed spring: -lambda_T in threshold Sgn(x)"),
    (TANGENT, "second tangent of the contact before: -Lambda_T in mu Lambda_N C, of most dissipation"),
    (CONSTRAINT, "constraint: g = 0"),
    (NONHOLONOMIC, "velocity constraint: J u + b = 0"),
)
_PAGE_WIDTH = 110


def _tidy(eq: Equations) -> Equations:
    """Equations as a reader wants them: common factors out, sin a sin b + cos a cos b joined to cos(a - b)."""

    def shortest(x: Expr) -> Expr:
        joined = TR10i(expand(x))
        return min((x, joined, sp.factor_terms(joined), sp.factor_terms(x)), key=lambda form: form.count_ops())

    rows = ("M", "h", "g_N", "W_N", "w_hat_N", "W_T", "w_hat_T")
    return replace(eq, **{name: getattr(eq, name).applyfunc(shortest) for name in rows})


def readable(law: Expr, k: int) -> Expr:
    """A coefficient of contact k with v for the speed that it depends on, and m for the inertia."""
    speeds = {f"speed[{k}]": sp.Symbol("v"), f"approach[{k}]": sp.Symbol("v"), f"inertia[{k}]": sp.Symbol("m")}
    return law.xreplace({x: speeds[x.name] for x in law.free_symbols if x.name in speeds})


def _contact_parts(eq: Equations, k: int) -> list[tuple[str, str, Expr]]:
    """(text name, LaTeX name, value) of everything that contact k has."""
    normal = eq.kind[k] in (CONTACT, CLUTCH)
    tangential = not eq.W_T[k, :].is_zero_matrix
    parts: list[tuple[str, str, Expr]] = []
    if eq.kind[k] >= CONSTRAINT:
        if eq.kind[k] == CONSTRAINT:
            parts.append(("g", f"g_{{{k + 1}}}", eq.g_N[k]))
        parts.append(("J", rf"\mathbf{{J}}_{{{k + 1}}}", eq.W_T[k, :]))
        parts.append(("b", f"b_{{{k + 1}}}", eq.w_hat_T[k]))
        return parts
    if eq.kind[k] in (CONTACT, SPRING):
        parts.append(("g_N", f"g_{{N{k + 1}}}", eq.g_N[k]) if normal else ("x", f"x_{{{k + 1}}}", eq.g_N[k]))
    if normal:
        parts.append(("w_N", rf"\mathbf{{w}}_{{N{k + 1}}}", eq.W_N[k, :]))
        parts.append(("w_hat_N", rf"\hat w_{{N{k + 1}}}", eq.w_hat_N[k]))
    if tangential:
        parts.append(("w_T", rf"\mathbf{{w}}_{{T{k + 1}}}", eq.W_T[k, :]))
        parts.append(("w_hat_T", rf"\hat w_{{T{k + 1}}}", eq.w_hat_T[k]))
    if eq.kind[k] == CONTACT:
        parts.append(("eps_N", rf"\varepsilon_{{N{k + 1}}}", readable(eq.eps_N[k], k)))
    if tangential and eq.kind[k] == TANGENT:
        parts.append(("mu", rf"\mu_{{{k + 1}}}", eq.mu[k]))
    if tangential and normal:
        parts.append(("mu", rf"\mu_{{{k + 1}}}", eq.mu[k]))
        if eq.mu_slip and eq.mu_slip[k] != eq.mu[k]:
            parts.append(("mu(|v|)", rf"\mu_{{{k + 1}}}(v)", readable(eq.mu_slip[k], k)))
        parts.append(("eps_T", rf"\varepsilon_{{T{k + 1}}}", readable(eq.eps_T[k], k)))
    if eq.gates and eq.gates[k] != 1:
        parts.append(("closes_when", f"c_{{{k + 1}}} > 0, c_{{{k + 1}}}", eq.gates[k]))
    if not eq.threshold[k].is_zero:
        parts.append(("threshold", f"a_{{{k + 1}}}", eq.threshold[k]))
    return parts


def _as_text(eq: Equations) -> str:
    def line(symbols: Iterable[Expr]) -> str:
        return ", ".join(str(s) for s in symbols)

    blocks = [
        f"{eq.name}\n"
        f"  coordinates  q = ({line(eq.q)})\n"
        f"  velocities   u = ({line(eq.u)})\n"
        f"  parameters   {line(eq.parameters) or 'none'}",
        "M du - h dt - dR = 0",
        _matrix_text("M", eq.M),
        _matrix_text("h", eq.h),
        f"T = {eq.kinetic}\nV = {eq.potential}",
    ]
    meaning = dict(_CONTACT_ROWS)
    for k, name in enumerate(eq.contact_names):
        said = meaning[eq.kind[k]]
        what, _, equation = said.partition(": ")
        rows = [f"contact {k + 1} {name!r}, {said}" if eq.kind[k] < CONSTRAINT else f"{what} {name!r}: {equation}"]
        for label, _, value in _contact_parts(eq, k):
            shown = f"({line(value)})" if isinstance(value, sp.MatrixBase) else str(value)
            rows.append(f"  {label:<9} = {shown}")
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks) + "\n"


def _matrix_text(name: str, matrix: sp.ImmutableMatrix) -> str:
    """Columns where they fit on a page, otherwise one entry per line."""
    cells = [[str(entry) for entry in matrix[i, :]] for i in range(matrix.rows)]
    widths = [max(len(row[j]) for row in cells) for j in range(matrix.cols)]
    if len(name) + 5 + sum(widths) + 2 * len(widths) <= _PAGE_WIDTH:
        margin = " " * (len(name) + 3)
        rows = ["[" + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + "]" for row in cells]
        return f"{name} = " + f"\n{margin}".join(rows)
    return "\n".join(
        f"{name}[{i + 1}, {j + 1}] = {cell}" if matrix.cols > 1 else f"{name}[{i + 1}] = {cell}"
        for i, row in enumerate(cells)
        for j, cell in enumerate(row)
    )


def _as_latex(eq: Equations) -> str:
    names = {s: _latex_name(s) for s in (*eq.q, *eq.u, *eq.parameters)}
    names |= {u: rf"\dot{{{names[x]}}}" for x, u in zip(eq.q, eq.u, strict=True) if u.name == f"{x.name}_dot"}

    def tex(x: Expr) -> str:
        return str(sp.latex(x, symbol_names=names, mat_str="pmatrix", mat_delim=""))

    rows = [
        r"\mathbf{M}\,\mathrm{d}\mathbf{u} - \mathbf{h}\,\mathrm{d}t - \mathrm{d}\mathbf{R} &= 0",
        rf"\mathbf{{q}} &= {tex(sp.Matrix(eq.q))}, \quad \mathbf{{u}} = {tex(sp.Matrix(eq.u))}",
        rf"\mathbf{{M}} &= {tex(eq.M)}",
        rf"\mathbf{{h}} &= {tex(eq.h)}",
    ]
    for k in range(len(eq.kind)):
        for _, label, value in _contact_parts(eq, k):
            rows.append(f"{label} &= {tex(value.T if isinstance(value, sp.MatrixBase) else value)}")
    return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}\n"


def _latex_name(symbol: Expr) -> str:
    """SymPy's LaTeX for a symbol such as m_S or phi_M; words such as friction stand upright."""
    text = str(sp.latex(symbol))
    if len(symbol.name.split("_")[0]) == 1 or text.startswith("\\"):
        return text
    word = symbol.name.replace("_", "\\_")
    return rf"\mathrm{{{word}}}"
