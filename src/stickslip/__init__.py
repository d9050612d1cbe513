"""Rigid-body dynamics with friction and impact.

The public names are listed here and nowhere else. Each is imported when it is first used, so that
`import stickslip` costs next to nothing and a script that only solves an LCP never loads SymPy, matplotlib
or HDF5.

A new public name needs three lines: in `_HOME`, in the `TYPE_CHECKING` block (for mypy and editors), and in
`__all__`. A test holds the three together.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stickslip._version import __version__

if TYPE_CHECKING:
    from stickslip import lcp as complementarity
    from stickslip import library, sets
    from stickslip.analysis.basins import BasinMap, basins
    from stickslip.analysis.continuation import Branch, continue_cycle
    from stickslip.analysis.diagram import BifurcationDiagram, bifurcation
    from stickslip.analysis.erdmann import erdmann
    from stickslip.analysis.limit_cycle import LimitCycle, limit_cycle
    from stickslip.analysis.lyapunov import lyapunov, recurrence
    from stickslip.analysis.outcomes import outcomes
    from stickslip.analysis.painleve import painleve
    from stickslip.analysis.poincare import ClosingSection, LevelSection, PhaseSection, poincare
    from stickslip.contact.planar import AugmentedLagrangian, Auto, Enumerate, GaussSeidel, Lemke, SemismoothNewton
    from stickslip.contact.problem import FrictionProblem, FrictionSolution
    from stickslip.contact.solve import enumerate_friction, solve_friction
    from stickslip.ensembles.files import load_ensemble
    from stickslip.ensembles.result import Ensemble
    from stickslip.ensembles.run import ensemble
    from stickslip.events.event_driven import EventDriven
    from stickslip.impacts.impact import Impact, impact
    from stickslip.io.friction_files import read_friction_problem, write_friction_problem
    from stickslip.io.models.file import model_from_text, model_text, read_model, write_model
    from stickslip.io.netcdf import load
    from stickslip.laws import (
        Coulomb,
        Elliptic,
        FrictionCurve,
        LoadIndependent,
        Newton,
        Poisson,
        Stribeck,
        Stronge,
        TwoCoefficient,
        Walton,
    )
    from stickslip.lcp.problems import LCPSolution
    from stickslip.lcp.solve import classify_matrix, enumerate_lcp, solve_lcp, solve_mlcp
    from stickslip.mechanisms.elements import Contact, DryFriction, PrestressedSpring, SpragClutch, Stop
    from stickslip.mechanisms.joints import Link, RevoluteClearanceJoint, TranslationalClearanceJoint, link_energies
    from stickslip.mechanisms.lagrangian import LagrangianSystem
    from stickslip.mechanisms.steppers.adaptive import Adaptive
    from stickslip.mechanisms.steppers.moreau_jean import MoreauJean
    from stickslip.mechanisms.steppers.moreau_midpoint import MoreauMidpoint
    from stickslip.mechanisms.steppers.paoli_schatzman import PaoliSchatzman
    from stickslip.mechanisms.steppers.stewart_trinkle import StewartTrinkle
    from stickslip.papers.sweeping import MovingBall, MovingPolygon, sweeping_process
    from stickslip.run.simulate import simulate
    from stickslip.scenario import Scenario
    from stickslip.scenes.scene import Scene
    from stickslip.scenes.shapes import (
        Box,
        Capsule,
        Circle,
        Compound,
        ConvexHull,
        HalfPlane,
        HalfSpace,
        HeightField,
        Polygon,
        Sphere,
    )
    from stickslip.sets import Sgn, Upr
    from stickslip.trajectory import Trajectory

# Public name -> module that defines it.
_HOME = {
    "Adaptive": "stickslip.mechanisms.steppers.adaptive",
    "AugmentedLagrangian": "stickslip.contact.planar",
    "Auto": "stickslip.contact.planar",
    "BasinMap": "stickslip.analysis.basins",
    "BifurcationDiagram": "stickslip.analysis.diagram",
    "Box": "stickslip.scenes.shapes",
    "Branch": "stickslip.analysis.continuation",
    "Capsule": "stickslip.scenes.shapes",
    "Circle": "stickslip.scenes.shapes",
    "ClosingSection": "stickslip.analysis.poincare",
    "Compound": "stickslip.scenes.shapes",
    "Contact": "stickslip.mechanisms.elements",
    "ConvexHull": "stickslip.scenes.shapes",
    "Coulomb": "stickslip.laws",
    "DryFriction": "stickslip.mechanisms.elements",
    "Elliptic": "stickslip.laws",
    "Ensemble": "stickslip.ensembles.result",
    "Enumerate": "stickslip.contact.planar",
    "EventDriven": "stickslip.events.event_driven",
    "FrictionCurve": "stickslip.laws",
    "FrictionProblem": "stickslip.contact.problem",
    "FrictionSolution": "stickslip.contact.problem",
    "GaussSeidel": "stickslip.contact.planar",
    "HalfPlane": "stickslip.scenes.shapes",
    "HalfSpace": "stickslip.scenes.shapes",
    "HeightField": "stickslip.scenes.shapes",
    "Impact": "stickslip.impacts.impact",
    "LCPSolution": "stickslip.lcp.problems",
    "LagrangianSystem": "stickslip.mechanisms.lagrangian",
    "Lemke": "stickslip.contact.planar",
    "LevelSection": "stickslip.analysis.poincare",
    "LimitCycle": "stickslip.analysis.limit_cycle",
    "LoadIndependent": "stickslip.laws",
    "Link": "stickslip.mechanisms.joints",
    "MoreauJean": "stickslip.mechanisms.steppers.moreau_jean",
    "MoreauMidpoint": "stickslip.mechanisms.steppers.moreau_midpoint",
    "MovingBall": "stickslip.papers.sweeping",
    "MovingPolygon": "stickslip.papers.sweeping",
    "Newton": "stickslip.laws",
    "PaoliSchatzman": "stickslip.mechanisms.steppers.paoli_schatzman",
    "PhaseSection": "stickslip.analysis.poincare",
    "Poisson": "stickslip.laws",
    "Polygon": "stickslip.scenes.shapes",
    "PrestressedSpring": "stickslip.mechanisms.elements",
    "RevoluteClearanceJoint": "stickslip.mechanisms.joints",
    "Scenario": "stickslip.scenario",
    "Scene": "stickslip.scenes.scene",
    "SemismoothNewton": "stickslip.contact.planar",
    "Sgn": "stickslip.sets",
    "Sphere": "stickslip.scenes.shapes",
    "SpragClutch": "stickslip.mechanisms.elements",
    "StewartTrinkle": "stickslip.mechanisms.steppers.stewart_trinkle",
    "Stop": "stickslip.mechanisms.elements",
    "Stribeck": "stickslip.laws",
    "Stronge": "stickslip.laws",
    "Trajectory": "stickslip.trajectory",
    "TranslationalClearanceJoint": "stickslip.mechanisms.joints",
    "TwoCoefficient": "stickslip.laws",
    "Upr": "stickslip.sets",
    "Walton": "stickslip.laws",
    "basins": "stickslip.analysis.basins",
    "bifurcation": "stickslip.analysis.diagram",
    "classify_matrix": "stickslip.lcp.solve",
    "continue_cycle": "stickslip.analysis.continuation",
    "ensemble": "stickslip.ensembles.run",
    "enumerate_friction": "stickslip.contact.solve",
    "enumerate_lcp": "stickslip.lcp.solve",
    "erdmann": "stickslip.analysis.erdmann",
    "impact": "stickslip.impacts.impact",
    "limit_cycle": "stickslip.analysis.limit_cycle",
    "link_energies": "stickslip.mechanisms.joints",
    "load": "stickslip.io.netcdf",
    "load_ensemble": "stickslip.ensembles.files",
    "lyapunov": "stickslip.analysis.lyapunov",
    "outcomes": "stickslip.analysis.outcomes",
    "painleve": "stickslip.analysis.painleve",
    "model_from_text": "stickslip.io.models.file",
    "model_text": "stickslip.io.models.file",
    "poincare": "stickslip.analysis.poincare",
    "read_friction_problem": "stickslip.io.friction_files",
    "read_model": "stickslip.io.models.file",
    "recurrence": "stickslip.analysis.lyapunov",
    "simulate": "stickslip.run.simulate",
    "solve_friction": "stickslip.contact.solve",
    "solve_lcp": "stickslip.lcp.solve",
    "solve_mlcp": "stickslip.lcp.solve",
    "sweeping_process": "stickslip.papers.sweeping",
    "write_friction_problem": "stickslip.io.friction_files",
    "write_model": "stickslip.io.models.file",
}

# Modules that are public as a whole: `stickslip.sets.Upr` works without a second import.
_MODULES = ("complementarity", "library", "sets")

__all__ = [
    "Adaptive",
    "AugmentedLagrangian",
    "Auto",
    "BasinMap",
    "BifurcationDiagram",
    "Box",
    "Branch",
    "Capsule",
    "Circle",
    "ClosingSection",
    "Compound",
    "Contact",
    "ConvexHull",
    "Coulomb",
    "DryFriction",
    "Elliptic",
    "Ensemble",
    "Enumerate",
    "EventDriven",
    "FrictionCurve",
    "FrictionProblem",
    "FrictionSolution",
    "GaussSeidel",
    "HalfPlane",
    "HalfSpace",
    "HeightField",
    "Impact",
    "LCPSolution",
    "LagrangianSystem",
    "Lemke",
    "LevelSection",
    "LimitCycle",
    "Link",
    "LoadIndependent",
    "MoreauJean",
    "MoreauMidpoint",
    "MovingBall",
    "MovingPolygon",
    "Newton",
    "PaoliSchatzman",
    "PhaseSection",
    "Poisson",
    "Polygon",
    "PrestressedSpring",
    "RevoluteClearanceJoint",
    "Scenario",
    "Scene",
    "SemismoothNewton",
    "Sgn",
    "Sphere",
    "SpragClutch",
    "StewartTrinkle",
    "Stop",
    "Stribeck",
    "Stronge",
    "Trajectory",
    "TranslationalClearanceJoint",
    "TwoCoefficient",
    "Upr",
    "Walton",
    "__version__",
    "basins",
    "bifurcation",
    "classify_matrix",
    "complementarity",
    "continue_cycle",
    "ensemble",
    "enumerate_friction",
    "enumerate_lcp",
    "erdmann",
    "impact",
    "library",
    "limit_cycle",
    "link_energies",
    "load",
    "load_ensemble",
    "lyapunov",
    "model_from_text",
    "model_text",
    "outcomes",
    "painleve",
    "poincare",
    "read_friction_problem",
    "read_model",
    "recurrence",
    "sets",
    "simulate",
    "solve_friction",
    "solve_lcp",
    "solve_mlcp",
    "sweeping_process",
    "write_friction_problem",
    "write_model",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562) and keep it."""
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"stickslip.{name}")
    else:
        raise AttributeError(f"module 'stickslip' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(set(globals()) | set(__all__))
