"""The figures of [PG05]: regimes of the bar's impact, critical friction, velocities after impacts, Stronge and Walton.

Payr, M. and Glocker, Ch.: Oblique frictional impact of a bar: analysis and comparison of different impact laws.
Nonlinear Dynamics 41 (2005). Figures 4 to 11 and 13 (`maps` and `models` draw 1 to 3
and 12); every point is an impact solved by `impact`, and the paper's
closed forms are drawn over.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from stickslip.figures import impact_map as draw
from stickslip.figures import style
from stickslip.figures.sheet import dress, sheet
from stickslip.impacts.impact import Impact
from stickslip.papers import PaperFigure
from stickslip.papers import pg05_data as data
from stickslip.papers.pg05_data import Bar, RegimeMap
from stickslip.trajectory import Certificate

SUBCRITICAL, SUPERCRITICAL = Bar(1 / 2), Bar(5 / 3)
SPHERE_LIKE = Bar(3 / 5, 1.0, 0.0, data.SPHERE)
_WIDTH = 7.2  # inch
_NARROW, _MEDIUM, _WIDE = 4.0, 6.0, 10.0  # largest |gamma_T^-/gamma_N^-| of the maps
_RATIO_BEFORE = r"pre-impact velocity ratio  $\gamma_T^-/\gamma_N^-$"
_RATIO_AFTER = r"post-impact velocity ratio  $\gamma_T^+/\gamma_N^+$"
_ANGLE = r"impact angle  $\varphi$ [°]"
_BAND, _NEGATIVE, _ZERO = "#C9CED6", "#CFD4DB", "#EDF0F3"
_DASHES = (0, (4, 3))


def fig4() -> PaperFigure:
    """Regimes for sub-critical friction."""
    return _regimes("Figure 4", "Impact states for sub-critical friction", SUBCRITICAL, _NARROW)


def fig5() -> PaperFigure:
    """Regimes for super-critical friction."""
    return _regimes("Figure 5", "Impact states for super-critical friction", SUPERCRITICAL, _WIDE)


def fig6() -> PaperFigure:
    """Critical friction over the angle."""
    found = data.critical_friction_over_angle()
    mu, phi = found.minimum
    top = 6.0
    with style.look():
        handles = [
            Line2D([], [], color=style.SERIES[0], linewidth=1.6, label=r"$\mu_c = \alpha/\delta$"),
            Line2D([], [], color=style.SERIES[1], marker="o", markersize=3.5, linestyle="none",
                   label="least friction at which the LCP stops a sliding bar by an impulse"),
        ]  # fmt: skip
        figure, (ax,) = sheet(1, 1, 3.4, width=_WIDTH)
        below = np.degrees(found.phi) <= 90.0
        x, curve = np.degrees(found.phi[below]), found.curve[below]
        ax.fill_between(x, np.minimum(curve, 2 * top), 2 * top, facecolor=_BAND, alpha=0.55, linewidth=0.0)
        ax.plot(x, curve, color=style.SERIES[0], linewidth=1.6, label="critical friction")
        ax.plot(np.degrees(found.sampled), found.onset, color=style.SERIES[1], marker="o", markersize=3.5,
                linestyle="none", label="onset")  # fmt: skip
        ax.plot([np.degrees(phi)] * 2, [0.0, mu], color=style.GREY, linewidth=0.8, linestyle=_DASHES)
        ax.plot([0.0, np.degrees(phi)], [mu, mu], color=style.GREY, linewidth=0.8, linestyle=_DASHES)
        ax.plot(np.degrees(phi), mu, color=style.INK, marker="o", markersize=5, label="minimum", zorder=5)
        ax.annotate(rf"$\mu_{{c,\min}}$ = {mu:.6f} at $\varphi$ = {np.degrees(phi):.3f}°", (np.degrees(phi), mu),
                    (44.0, 0.62), ha="center", va="center", zorder=6)  # fmt: skip
        ax.text(56.0, 3.9, "super-critical:\nno forward slip", ha="center", va="center", linespacing=1.4)
        ax.text(11.5, 2.0, "sub-critical:\nforward slip\npossible", ha="center", va="center", linespacing=1.4)
        style.panel(ax, "", _ANGLE, r"critical friction  $\mu_c$")
        ax.set(xlim=(0.0, 90.0), ylim=(0.0, top), xticks=range(0, 91, 15))
        note = (
            rf"Forward slip, $\Lambda_T = -\mu\Lambda_N$; slender bar, $\Theta_S = ms^2/3$; minimum by search: "
            f"μ = {mu:.12g}, φ = {np.degrees(phi):.9g}° (4/3, arctan 2)\n"
            f"check: onset of the impact without collision in the LCP, {len(found.onset)} angles, "
            f"within {found.largest_difference:.0e} of α/δ"
        )
        title = "Critical coefficient of friction as function of the angle"
        parameters = {key: value for key, value in Bar(0.0).parameters.items() if key != "friction"}
        return _finish(figure, "Figure 6", title, note, parameters, [], handles)


def fig7() -> PaperFigure:
    """Sign of the velocity ratio after the impact, sub-critical friction."""
    title = "Sign of the post-impact velocity ratio, sub-critical friction"
    return _signs("Figure 7", title, SUBCRITICAL, _NARROW)


def fig8() -> PaperFigure:
    """Sign of the velocity ratio after the impact, super-critical friction."""
    title = "Sign of the post-impact velocity ratio, super-critical friction"
    return _signs("Figure 8", title, SUPERCRITICAL, _WIDE)


def fig9() -> PaperFigure:
    """Velocity ratio after the impact at two angles."""
    bar, limit = SUBCRITICAL, 6.0
    r = np.linspace(-limit, limit, 1201)
    hits = [bar.impacts(r, phi) for phi in (0.5 * np.pi, 0.25 * np.pi)]
    curves = [_ratio_after(hit) for hit in hits]
    worst = max(
        float(np.abs(curve - bar.slip_after(r, phi)).max())
        for curve, phi in zip(curves, (0.5 * np.pi, 0.25 * np.pi), strict=True)
    )
    with style.look():
        handles = [
            Line2D([], [], color=style.SERIES[0], linewidth=1.6, label=r"$\varphi = \pi/2$"),
            Line2D([], [], color=style.SERIES[1], linewidth=1.6, linestyle=_DASHES, label=r"$\varphi = \pi/4$"),
        ]
        figure, (ax,) = sheet(1, 1, 4.2, width=_WIDTH)
        ax.axhline(0.0, color=style.GREY, linewidth=0.7)
        ax.axvline(0.0, color=style.GREY, linewidth=0.7)
        ax.plot(r, curves[0], color=style.SERIES[0], linewidth=1.6, label="pi/2", zorder=4)
        ax.plot(r, curves[1], color=style.SERIES[1], linewidth=1.6, linestyle=_DASHES, label="pi/4", zorder=4)
        style.panel(ax, "", _RATIO_BEFORE, _RATIO_AFTER)
        ax.set(xlim=(-limit, limit), ylim=(-3.2, 3.2), xticks=range(-6, 7))
        _strips(ax, r, hits[0])
        step = max(float(np.abs(np.diff(curve)).max()) for curve in curves)
        note = _parameters(bar) + (
            f"; strips above: regimes and sign reversal at $\\pi/2$\n"
            f"check: {2 * len(r):,} impacts by the LCP, {_check(hits)}, closed forms (48)-(50) within {worst:.0e}\n"
            f"continuous: the ratio after changes by ≤ {step:.2g} where the one before changes by {r[1] - r[0]:.2g}"
        )
        title = "Post-impact velocity ratio at two angles"
        return _finish(figure, "Figure 9", title, note, bar.parameters, hits, handles)


def fig10() -> PaperFigure:
    """Velocity ratio after the impact for all angles, as a surface."""
    bar, limit = SUBCRITICAL, 6.0
    found = data.regime_map(bar, limit, 240, 180)
    with style.look():
        strong = ["#FFFFFF", "#D98CB3", "#5FA3D0", "#EDB64A", "#B9C0C9", "#66BB99"]
        handles: list[Any] = draw.regime_handles(found.state)
        for patch, code in zip(handles, np.unique(found.state), strict=True):
            patch.set_facecolor(strong[code])
        handles.append(Line2D([], [], color=style.INK, linewidth=1.4, label="closed-form boundaries (34), (47)"))
        figure, axes = sheet(1, 1, 4.3, width=_WIDTH, projection="3d")
        ax: Any = axes[0]
        r, phi = np.meshgrid(found.r, np.degrees(found.phi))
        colours = to_rgba_array(strong)[found.state, :3] * _light(found.slip_after)[..., None]
        ax.plot_surface(r, phi, found.slip_after, facecolors=colours, rcount=180, ccount=240, linewidth=0.0,
                        antialiased=False, shade=False)  # fmt: skip
        angles = np.linspace(0.005, np.pi - 0.005, 181)
        for boundary in bar.boundaries(angles):
            ax.plot(boundary, np.degrees(angles), bar.slip_after(boundary, angles) + 0.04, color=style.INK,
                    linewidth=1.4, zorder=10)  # fmt: skip
        ax.set(xlim=(-limit, limit), ylim=(0.0, 180.0), yticks=range(0, 181, 45))
        ax.set_xlabel(r"$\gamma_T^-/\gamma_N^-$")
        ax.set_ylabel(r"$\varphi$ [°]")
        ax.set_zlabel(r"$\gamma_T^+/\gamma_N^+$")
        ax.view_init(elev=28.0, azim=-62.0)
        ax.set_box_aspect((1.7, 1.2, 0.75), zoom=1.32)
        for axis in "xyz":
            ax.tick_params(axis=axis, pad=-2.5)
            getattr(ax, f"{axis}axis").labelpad = -2.0
        note = _parameters(bar) + "\n" + _map_check(found)
        title = "Post-impact velocity ratio for all feasible angles"
        return _finish(figure, "Figure 10", title, note, bar.parameters, [found.hit], handles)


def fig11() -> PaperFigure:
    """Regimes and signs of a bar with the inertia of a sphere."""
    title = "Impact states and signs, bar with the inertia of a sphere"
    return _signs("Figure 11", title, SPHERE_LIKE, _MEDIUM, sphere=True)


def fig13() -> PaperFigure:
    """Terminal over incident slip: Stronge's lumped model and Walton's operator."""
    psi = np.linspace(0.0, 5.0, 1001)
    found = data.sphere_comparison(psi)
    with style.look():
        handles = [
            Line2D([], [], color=style.INK, linewidth=1.5, label="Stronge, lumped model"),
            Line2D([], [], color=style.INK, linewidth=1.5, linestyle=_DASHES, label="Walton"),
            Line2D([], [], color=style.INK, linewidth=0.0, marker="o", markersize=4.5, markerfacecolor=style.PAPER,
                   label="gross slip begins, (59): both laws agree from here on"),
        ]  # fmt: skip
        figure, (ax,) = sheet(1, 1, 4.0, width=_WIDTH)
        ax.axhline(0.0, color=style.GREY, linewidth=0.7)
        _common_ray(ax, found)
        for k, e in enumerate(data.FIG13_RESTITUTIONS):
            colour = style.SERIES[k]
            ax.plot(psi, found.stronge[k], color=colour, linewidth=1.5, label=f"Stronge, e = {e:g}")
            first, leaves = int(np.argmax(found.gross_slip(e))), _leaves_ray(found, k)
            own = slice(leaves, first + 1)  # before it all Walton's lines are one ray, after it the solid line
            ax.plot(psi[own], found.walton[k][own], color=colour, linewidth=1.7, linestyle=_DASHES,
                    label=f"Walton, e = {e:g}", zorder=3)  # fmt: skip
            ax.plot(psi[first], found.stronge[k][first], color=colour, marker="o", markersize=4.5,
                    markerfacecolor=style.PAPER, zorder=5)  # fmt: skip
            at = 3.45 if k < 2 else 4.55
            height = float(np.interp(at, psi, found.stronge[k]))
            ax.annotate(f"$e$ = {e:g}", (at, height), (7, -9), textcoords="offset points", color=colour)
        style.panel(
            ax, "", r"incident slip speed  $\gamma_T^-/|\gamma_N^-|$", r"terminal slip speed  $\gamma_T^+/|\gamma_N^-|$"
        )
        ax.set(xlim=(0.0, 5.0), ylim=(-1.5, 2.5))
        note = (
            r"Sphere: bar at $\varphi = \pi/2$ with $\Theta_S = \frac{2}{5}\,ms^2$; "
            rf"$\mu$ = {data.FIG13_FRICTION:g}; Walton $\varepsilon_T$ = {data.FIG13_EPS_T:g}; Stronge $\eta^2$ = "
            rf"{data.FIG13_EPS_T / data.FIG13_FRICTION:g}, so $\mu\eta^2$ = {data.FIG13_EPS_T:g}"
            f"\ncheck: {len(found.hits) * len(psi):,} impacts, {_check(found.hits)}; in gross slip the laws differ by "
            f"{found.gross_slip_difference:.0e}; Walton differs from Newton's LCP by {found.walton_difference:.0e}"
        )
        parameters = {key: value for key, value in SPHERE_LIKE.parameters.items() if key != "restitution_normal"}
        parameters |= {"friction": data.FIG13_FRICTION, "restitution_tangential": data.FIG13_EPS_T}
        title = "Terminal slip over incident slip of a sphere: Stronge and Walton"
        return _finish(figure, "Figure 13", title, note, parameters, found.hits, handles)


def _leaves_ray(found: data.SphereComparison, k: int) -> int:
    """Number of the last point at which Walton's line of the k-th restitution lies on the ray -eps_T psi."""
    on = np.abs(found.walton[k] + data.FIG13_EPS_T * found.psi) <= 1e-12 * (1.0 + found.psi)
    return int(np.argmin(on)) - 1


def _common_ray(ax: Axes, found: data.SphereComparison) -> None:
    """Draw the ray that Walton's lines share, whatever the restitution, in grey, with its formula."""
    end = max(_leaves_ray(found, k) for k in range(len(data.FIG13_RESTITUTIONS)))
    rows = slice(0, end + 1)
    ray = found.walton[-1][rows]
    ax.plot(found.psi[rows], ray, color=style.GREY, linewidth=1.5, linestyle=_DASHES, label="common ray", zorder=2)
    ax.annotate(
        r"Walton, every $e$:  $-\varepsilon_T\,\gamma_T^-/|\gamma_N^-|$", (found.psi[end], ray[-1]), (-6, 1),
        textcoords="offset points", color=style.GREY, va="top", ha="right",
    )  # fmt: skip


@lru_cache(maxsize=3)
def _map(bar: Bar, limit: float) -> RegimeMap:
    return data.regime_map(bar, limit)


def _regimes(number: str, title: str, bar: Bar, limit: float) -> PaperFigure:
    found = _map(bar, limit)
    degrees = np.degrees(found.phi)
    with style.look():
        bands = bar.friction > 4 / 3
        handles: list[Any] = [Line2D([], [], color=style.INK, linewidth=1.0, label="closed forms (34), (47)")]
        if bands:
            handles.append(Patch(facecolor=_BAND, label=r"$\mu|\delta| > \alpha$: one slip state cannot be reached"))
        figure, (ax,) = sheet(1, 1, 4.0, width=_WIDTH)
        draw.regimes(ax, found.r, degrees, found.state)
        if bands:
            _bands(ax, bar)
        angles = np.linspace(1e-6, np.pi - 1e-6, 2001)
        for name, line in zip(("(34)", "(47)"), _within(bar.boundaries(angles), limit), strict=True):
            ax.plot(line, np.degrees(angles), color=style.INK, linewidth=1.0, label=f"closed form {name}", zorder=4)
        # the bands cut the stick region in pieces, of which the middle one has room for its name
        cut = _supercritical(bar, found.phi)[:, None] & (found.state == data.STICK)
        draw.name_regimes(ax, found.r, degrees, np.where(cut, -1, found.state))
        _plane(ax)
        note = _parameters(bar) + "\n" + _map_check(found)
        return _finish(figure, number, title, note, bar.parameters, [found.hit], handles)


def _within(lines: Sequence[np.ndarray], limit: float) -> list[np.ndarray]:
    """Boundaries with NaN where they lie far outside the map."""
    return [np.where(np.abs(line) <= 1.5 * limit, line, np.nan) for line in lines]


def _signs(number: str, title: str, bar: Bar, limit: float, *, sphere: bool = False) -> PaperFigure:
    """Map of the sign of gamma_T^+/gamma_N^+ in white and grey; heavy lines, found by bisection, bound the regimes."""
    found = _map(bar, limit)
    degrees = np.degrees(found.phi)
    sign = np.where(np.abs(found.slip_after) <= 1e-12 * (1.0 + np.abs(found.r)), 1, np.sign(found.slip_after) + 1)
    with style.look():
        handles: list[Any] = [
            Patch(facecolor=colour, edgecolor=style.GREY, linewidth=0.4, label=rf"$\gamma_T^+/\gamma_N^+ {relation}$")
            for colour, relation, there in (
                (style.PAPER, "> 0", True), (_ZERO, "= 0", (sign == 1).any()), (_NEGATIVE, "< 0", True)
            ) if there
        ]  # fmt: skip
        handles += [
            draw.reversal_handle("sign reversal"),
            Line2D([], [], color=style.INK, linewidth=1.5, label="regimes, by the LCP"),
            Line2D([], [], color=style.SERIES[1], marker="o", markersize=3.6, linestyle="none", label="closed forms"),
        ]
        figure, (ax,) = sheet(1, 1, 4.0, width=_WIDTH)
        if (sign == 1).any():
            draw.cells(ax, found.r, degrees, sign.astype(int), (_NEGATIVE, _ZERO, style.PAPER))
        else:
            draw.below_zero(ax, found.r, degrees, found.slip_after, _NEGATIVE)
        draw.hatch(ax, found.r, degrees, found.hit.reversal[..., 0])
        angles = data.centres(0.0, np.pi, 720)
        for line in bar.bisected(angles, 1.5 * limit):
            ax.plot(line, np.degrees(angles), color=style.INK, linewidth=1.5, label="regimes, bisected", zorder=3)
        some = np.radians(np.arange(7.5, 180.0, 15.0))
        for name, line in zip(("(34)", "(47)"), _within(bar.boundaries(some), limit), strict=True):
            ax.plot(line, np.degrees(some), color=style.SERIES[1], marker="o", markersize=3.6, linestyle="none",
                    label=f"closed form {name}", zorder=4)  # fmt: skip
        ax.axvline(0.0, color=style.GREY, linewidth=0.7, zorder=2)
        if sphere:
            ax.axhline(90.0, color=style.GREY, linewidth=0.8, linestyle=_DASHES, zorder=2)
            ax.text(-0.98 * limit, 91.5, "sphere", fontsize=8, color=style.GREY, va="bottom", zorder=4)
        draw.name_regions(
            ax, found.r, degrees, found.state,
            {data.BACKWARD: "backward slip", data.STICK: "stick", data.FORWARD: "forward slip"},
        )  # fmt: skip
        _plane(ax)
        note = _parameters(bar) + "\n" + _map_check(found) + _sliver(found)
        return _finish(figure, number, title, note, bar.parameters, [found.hit], handles)


def _sliver(found: RegimeMap) -> str:
    """Where a small part of the map reverses the slip, the share and the largest ratio of that part in words."""
    reversal = found.hit.reversal[..., 0]
    share = float(reversal.mean())
    if not 0.0 < share < 0.01:
        return ""
    reach = float(np.abs(found.r[reversal.any(axis=0)]).max())
    return f"; {share:.1%} of the impacts reverse the slip, at ratios up to {reach:.2f}: the narrow strips at ratio 0"


def _supercritical(bar: Bar, phi: np.ndarray) -> np.ndarray:
    """Angles at which one of the slip states cannot be reached: mu |delta| > alpha."""
    alpha, _, delta = bar.matrix(phi)
    return np.asarray(bar.friction * np.abs(delta) > alpha)


def _bands(ax: Axes, bar: Bar) -> None:
    """Shade the angles of `_supercritical`, with the lines mu |delta| = alpha at their edges."""
    fine = np.linspace(0.0, np.pi, 20001)
    inside = _supercritical(bar, fine)
    edges = np.degrees(fine[np.flatnonzero(np.diff(inside.astype(int)))])
    for (low, high), text in zip(edges.reshape(-1, 2), ("forward", "backward"), strict=True):
        ax.axhspan(low, high, facecolor=style.INK, alpha=0.13, linewidth=0.0, zorder=1)
        for edge in (low, high):
            ax.axhline(edge, color=style.INK, linewidth=0.7, zorder=2)
        x = -0.97 if text == "forward" else 0.97
        ax.text(x * ax.get_xlim()[1], 0.5 * (low + high), f"no {text} slip at any ratio", fontsize=8.5, style="italic",
                ha="left" if x < 0.0 else "right", va="center", zorder=6)  # fmt: skip


def _plane(ax: Axes) -> None:
    style.panel(ax, "", _RATIO_BEFORE, _ANGLE)
    ax.set_yticks(range(0, 181, 30))


def _strips(ax: Axes, r: np.ndarray, hit: Impact) -> None:
    """Strips above the panel with the regimes of one curve and with the part in which the sign reverses."""
    state, reversal = hit.state_code[:, 0], hit.reversal[:, 0]
    across = ax.get_xaxis_transform()
    low, high, pitch = 1.015, 0.055, 0.065

    def strip(row: int, part: np.ndarray, text: str, **fill: Any) -> None:
        width = part[-1] - part[0]
        box = Rectangle((part[0], low + row * pitch), width, high, transform=across, clip_on=False, **fill)
        ax.add_patch(box)
        ax.text(0.5 * (part[0] + part[-1]), low + row * pitch + 0.5 * high, text, transform=across, ha="center",
                va="center", fontsize=8)  # fmt: skip

    for name in ("forward slip", "stick", "backward slip"):
        part = r[state == Impact.STATES.index(name)]
        strip(1, part, name, facecolor=draw.TINTS[name], edgecolor=style.PAPER, linewidth=1.5)
    strip(0, r[reversal], "sign reversal", facecolor="#DDE1E6", edgecolor=style.PAPER, linewidth=1.5)
    stick, turned = r[state == data.STICK], r[reversal]
    for edge in (stick[0], stick[-1], turned[0], turned[-1]):
        ax.axvline(edge, color=style.GREY, linewidth=0.6, linestyle=_DASHES, zorder=1)


def _light(height: np.ndarray) -> np.ndarray:
    """Brightness of a surface lit from the low angles: mplot3d's own light leaves the slopes dark."""
    slope = np.gradient(height, axis=0)
    return np.asarray(0.84 - 0.16 * slope / max(float(np.abs(slope).max()), 1e-300))


def _ratio_after(hit: Impact) -> np.ndarray:
    return np.asarray(hit.tangential_velocity_after[:, 0] / hit.normal_velocity_after[:, 0])


def _parameters(bar: Bar) -> str:
    K = {data.SLENDER: r"\frac{1}{3}", data.SPHERE: r"\frac{2}{5}"}[bar.inertia]
    mu = {1 / 2: "1/2", 5 / 3: "5/3", 3 / 5: "3/5"}[bar.friction]
    return (
        rf"Bar with $\Theta_S = {K}\,ms^2$, $\mu$ = {mu}, $\varepsilon_N$ = {bar.restitution_normal:g}, "
        rf"$\varepsilon_T$ = {bar.restitution_tangential:g}; Newton's law in inequality form, (27), (28)"
    )


def _map_check(found: RegimeMap) -> str:
    text = (
        f"check: {found.state.size:,} impacts by the LCP, {_check([found.hit])}; {found.different_states} states other "
        rf"than by (33)-(47); $\gamma_T^+$ within {found.largest_difference:.0e} of (48)-(50)"
    )
    gains = float((found.hit.energy_change > 1e-9).mean())
    return text + (f"\nunequal coefficients: {gains:.1%} of the impacts gain energy" if gains else "")


def _check(hits: Sequence[Impact]) -> str:
    certificate = _certificate(hits)
    return f"{certificate.failed_steps} unsolved, residual ≤ {certificate.max_residual:.0e}"


def _certificate(hits: Sequence[Impact]) -> Certificate:
    """Impacts in place of steps: unsolved ones, worst residual, largest gain of kinetic energy."""
    return Certificate(
        failed_steps=sum(int(np.size(hit.solved) - np.sum(hit.solved)) for hit in hits),
        max_residual=max((float(np.max(hit.residual)) for hit in hits), default=0.0),
        max_energy_gain=max((max(0.0, float(np.max(hit.energy_change))) for hit in hits), default=0.0),
        max_lcp_size=3,
    )


def _finish(
    figure: Figure,
    number: str,
    title: str,
    note: str,
    parameters: dict[str, float],
    hits: Sequence[Impact],
    handles: Sequence[Any],
) -> PaperFigure:
    source = f"[PG05] {number}"
    dress(figure, f"{source}. {title}", note, handles)
    return PaperFigure(title, source, parameters, 0.0, _certificate(hits), figure)
