"""Flowcharts of [FLG10] Figures 4 and 5: Moreau's time stepping as our midpoint stepper does it."""

from __future__ import annotations

from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stickslip.figures import style
from stickslip.figures.sheet import dress, sheet
from stickslip.figures.sketch import box, flow
from stickslip.mechanisms.steppers.moreau_midpoint import MoreauMidpoint
from stickslip.papers import PaperFigure


def flg10_fig4() -> PaperFigure:
    """Flowchart of the procedure for systems with frictional unilateral constraints."""
    title = "Flowchart of the solution of the equations of motion with frictional unilateral constraints"
    with style.look():
        figure, (ax,) = sheet(1, 1, 4.6, width=5.6)
        _page(ax, (0.0, 10.0, -0.4, 10.2))
        x = 4.2
        box(ax, (x, 9.6), 4.6, 0.9, r"start: $t_A,\; t_F,\; \Delta t,\; q_A,\; u_A$")
        box(
            ax,
            (x, 8.1),
            4.6,
            1.2,
            "midpoint: " + r"$q_M = q_A + \frac{1}{2}\Delta t\,u_A$" + "\n" + r"$M_M,\; h_M,\; H_M$",
        )
        box(ax, (x, 6.3), 3.2, 1.4, "a contact\nclosed?", decision=True)
        box(ax, (2.0, 4.5), 3.5, 1.1, r"$u_E = u_A + M_M^{-1} h_M \Delta t$")
        box(
            ax,
            (6.9, 4.5),
            4.8,
            1.1,
            "contact problem: $P_N$, $P_T$\n" + r"$u_E = u_A + M_M^{-1}(h_M\Delta t + W_N P_N + W_T P_T)$",
        )
        box(ax, (x, 2.9), 3.6, 0.9, r"$q_E = q_M + \frac{1}{2}\Delta t\,u_E$")
        box(ax, (x, 1.4), 2.8, 1.2, r"$t_E < t_F$?", decision=True)
        box(ax, (x, 0.0), 1.6, 0.6, "stop")
        flow(ax, (x, 9.15), (x, 8.7))
        flow(ax, (x, 7.5), (x, 7.0))
        flow(ax, (x - 1.6, 6.3), (2.0, 6.3), (2.0, 5.05), text="no", shift=(-14, 6))
        flow(ax, (x + 1.6, 6.3), (6.9, 6.3), (6.9, 5.05), text="yes", shift=(4, 6))
        flow(ax, (2.0, 3.95), (2.0, 2.9), (x - 1.8, 2.9))
        flow(ax, (6.9, 3.95), (6.9, 2.9), (x + 1.8, 2.9))
        flow(ax, (x, 2.45), (x, 2.0))
        flow(ax, (x, 0.8), (x, 0.3), text="no", shift=(4, -5))
        flow(ax, (x + 1.4, 1.4), (9.6, 1.4), (9.6, 8.1), (x + 2.3, 8.1), text="yes", shift=(4, 6))
        ax.text(
            9.5, 7.2, r"$t_A, q_A, u_A$" + "\n" + r"$\leftarrow t_E, q_E, u_E$", ha="right", va="center", fontsize=7.6
        )
        return _finish(figure, "[FLG10] Figure 4", title)


def flg10_fig5() -> PaperFigure:
    """Flowchart of Moreau's time-stepping algorithm with an LCP."""
    title = "Flowchart of Moreau's time-stepping algorithm with an LCP formulation"
    with style.look():
        figure, (ax,) = sheet(1, 1, 6.2, width=5.6)
        _page(ax, (0.0, 10.0, -0.4, 14.3))
        x, wide = 4.4, 6.6
        steps = (
            (13.8, 0.7, r"(i)  $t_A,\; t_F,\; \Delta t,\; q_A,\; u_A$"),
            (12.75, 0.8, r"(ii)  $g_{Ni},\; M,\; h,\; \varepsilon_{Ni},\; \varepsilon_{Ti},\; \mu_i,\; w_{Ni},\; $"
             + r"$w_{Ti},\; \tilde w_{Ni},\; \tilde w_{Ti}$"),
            (11.35, 1.2, r"(iii)  $t_M = t_A + \frac{1}{2}\Delta t,\;\; q_M = q_A + \frac{1}{2}\Delta t\,u_A$" + "\n"
             + r"$M_M,\; h_M,\; H_M = \{i \,|\, g_{Ni}(q_M, t_M) \leq 0\}$"),
            (9.85, 1.0, r"(iv)  $W_{NM},\; W_{TM},\; \tilde w_{NM},\; \tilde w_{TM},\; \gamma_{NA},\; \gamma_{TA}$"
             + r" for $i \in H_M$"),
            (8.35, 1.2, r"(v)  $y = A x + b$, eq. (85)" + "\n"
             + r"$x = (P_N,\, P_R,\, \xi_L),\quad y = (\xi_N,\, \xi_R,\, P_L)$"),
            (6.95, 0.8, r"(vi)  $(x, y) = \mathrm{LCP}(A, b)$:  $0 \leq x \perp y \geq 0$"),
            (5.75, 0.8, r"(vii)  $P_N,\, P_R$ from $x$,  $P_L$ from $y$"),
            (4.45, 1.0, r"(viii)  $u_E = u_A + M_M^{-1} h_M\Delta t + M_M^{-1}(W_{NM} - W_{TM}\mu) P_N$"
             + r"$\,+\, M_M^{-1} W_{TM} P_R$"),
            (3.15, 0.8, r"(ix)  $q_E = q_M + \frac{1}{2}\Delta t\,u_E$"),
        )  # fmt: skip
        for y, height, text in steps:
            box(ax, (x, y), wide if "viii" not in text else 8.4, height, text)
        for (above, tall, _), (below, small, _) in pairwise(steps):
            flow(ax, (x, above - 0.5 * tall), (x, below + 0.5 * small))
        box(ax, (x, 1.6), 3.2, 1.3, r"(x)  $t_E < t_F$?", decision=True)
        box(ax, (x, 0.0), 1.6, 0.6, "stop")
        flow(ax, (x, 2.75), (x, 2.25))
        flow(ax, (x, 0.95), (x, 0.3), text="no", shift=(4, -5))
        flow(ax, (x + 1.6, 1.6), (9.6, 1.6), (9.6, 11.35), (x + 0.5 * wide, 11.35), text="yes", shift=(4, 6))
        return _finish(
            figure, "[FLG10] Figure 5", title, "; in step (vii) the paper swaps the names of $P_R$ and $P_L$"
        )


def _page(ax: Axes, shown: tuple[float, float, float, float]) -> None:
    ax.set_axis_off()
    ax.set_xlim(shown[0], shown[1])
    ax.set_ylim(shown[2], shown[3])


def _finish(figure: Figure, source: str, title: str, more: str = "") -> PaperFigure:
    check = f"these are the steps of {MoreauMidpoint.__name__}"
    dress(figure, f"{source}. {title}", check + more)
    return PaperFigure(title, source, {}, 0.0, None, figure, check=check)
