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
    from stickslip import complementarity, library, sets
    from stickslip.analysis.basins import BasinMap, basins
    from stickslip.analysis.continuation import Branch, continue_cycle
    from stickslip.analysis.diagram import BifurcationDiagram, bifurcation
    from stickslip.analysis.erdmann import erdmann
    from stickslip.analysis.limit_cycle import LimitCycle, limit_cycle
    from stickslip.analysis.lyapunov import lyapunov, recurrence
    from stickslip.analysis.outcomes import outcomes
    from stickslip.analysis.painleve import painleve
    from stickslip.analysis.poincare import ClosingSection, LevelSection, PhaseSection, poincare
    from stickslip.complementarity.friction.problem import FrictionProblem, FrictionSolution
    from stickslip.complementarity.friction.solve import enumerate_friction, solve_friction
    from stickslip.complementarity.planar import (
        AugmentedLagrangian,
        Auto,
        Enumerate,
        GaussSeidel,
        Lemke,
        SemismoothNewton,
    )
    from stickslip.complementarity.problems import LCPSolution
    from stickslip.complementarity.solve import classify_matrix, enumerate_lcp, solve_lcp, solve_mlcp
    from stickslip.ensembles.result import Ensemble
    from stickslip.ensembles.run import ensemble
    from stickslip.io.friction_files import read_friction_problem, write_friction_problem
    from stickslip.io.models.file import model_from_text, model_text, read_model, write_model
    from stickslip.io.netcdf import load
    from stickslip.io.sweeps import load_ensemble
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
    from stickslip.library.scenario import Scenario
    from stickslip.model.elements import Contact, DryFriction, PrestressedSpring, SpragClutch, Stop
    from stickslip.model.joints import Link, RevoluteClearanceJoint, TranslationalClearanceJoint, link_energies
    from stickslip.model.lagrangian import LagrangianSystem
    from stickslip.model.scene.scene import Scene
    from stickslip.model.scene.shapes import (
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
    from stickslip.stepping.adaptive import Adaptive
    from stickslip.stepping.event_driven import EventDriven
    from stickslip.stepping.impact import Impact, impact
    from stickslip.stepping.moreau_jean import MoreauJean
    from stickslip.stepping.moreau_midpoint import MoreauMidpoint
    from stickslip.stepping.paoli_schatzman import PaoliSchatzman
    from stickslip.stepping.simulate import simulate
    from stickslip.stepping.stewart_trinkle import StewartTrinkle
    from stickslip.stepping.sweeping import MovingBall, MovingPolygon, sweeping_process
    from stickslip.trajectory import Trajectory

# Public name -> module that defines it.
_HOME = {
    "Adaptive": "stickslip.stepping.adaptive",
    "AugmentedLagrangian": "stickslip.complementarity.planar",
    "Auto": "stickslip.complementarity.planar",
    "BasinMap": "stickslip.analysis.basins",
    "BifurcationDiagram": "stickslip.analysis.diagram",
    "Box": "stickslip.model.scene.shapes",
    "Branch": "stickslip.analysis.continuation",
    "Capsule": "stickslip.model.scene.shapes",
    "Circle": "stickslip.model.scene.shapes",
    "ClosingSection": "stickslip.analysis.poincare",
    "Compound": "stickslip.model.scene.shapes",
    "Contact": "stickslip.model.elements",
    "ConvexHull": "stickslip.model.scene.shapes",
    "Coulomb": "stickslip.laws",
    "DryFriction": "stickslip.model.elements",
    "Elliptic": "stickslip.laws",
    "Ensemble": "stickslip.ensembles.result",
    "Enumerate": "stickslip.complementarity.planar",
    "EventDriven": "stickslip.stepping.event_driven",
    "FrictionCurve": "stickslip.laws",
    "FrictionProblem": "stickslip.complementarity.friction.problem",
    "FrictionSolution": "stickslip.complementarity.friction.problem",
    "GaussSeidel": "stickslip.complementarity.planar",
    "HalfPlane": "stickslip.model.scene.shapes",
    "HalfSpace": "stickslip.model.scene.shapes",
    "HeightField": "stickslip.model.scene.shapes",
    "Impact": "stickslip.stepping.impact",
    "LCPSolution": "stickslip.complementarity.problems",
    "LagrangianSystem": "stickslip.model.lagrangian",
    "Lemke": "stickslip.complementarity.planar",
    "LevelSection": "stickslip.analysis.poincare",
    "LimitCycle": "stickslip.analysis.limit_cycle",
    "LoadIndependent": "stickslip.laws",
    "Link": "stickslip.model.joints",
    "MoreauJean": "stickslip.stepping.moreau_jean",
    "MoreauMidpoint": "stickslip.stepping.moreau_midpoint",
    "MovingBall": "stickslip.stepping.sweeping",
    "MovingPolygon": "stickslip.stepping.sweeping",
    "Newton": "stickslip.laws",
    "PaoliSchatzman": "stickslip.stepping.paoli_schatzman",
    "PhaseSection": "stickslip.analysis.poincare",
    "Poisson": "stickslip.laws",
    "Polygon": "stickslip.model.scene.shapes",
    "PrestressedSpring": "stickslip.model.elements",
    "RevoluteClearanceJoint": "stickslip.model.joints",
    "Scenario": "stickslip.library.scenario",
    "Scene": "stickslip.model.scene.scene",
    "SemismoothNewton": "stickslip.complementarity.planar",
    "Sgn": "stickslip.sets",
    "Sphere": "stickslip.model.scene.shapes",
    "SpragClutch": "stickslip.model.elements",
    "StewartTrinkle": "stickslip.stepping.stewart_trinkle",
    "Stop": "stickslip.model.elements",
    "Stribeck": "stickslip.laws",
    "Stronge": "stickslip.laws",
    "Trajectory": "stickslip.trajectory",
    "TranslationalClearanceJoint": "stickslip.model.joints",
    "TwoCoefficient": "stickslip.laws",
    "Upr": "stickslip.sets",
    "Walton": "stickslip.laws",
    "basins": "stickslip.analysis.basins",
    "bifurcation": "stickslip.analysis.diagram",
    "classify_matrix": "stickslip.complementarity.solve",
    "continue_cycle": "stickslip.analysis.continuation",
    "ensemble": "stickslip.ensembles.run",
    "enumerate_friction": "stickslip.complementarity.friction.solve",
    "enumerate_lcp": "stickslip.complementarity.solve",
    "erdmann": "stickslip.analysis.erdmann",
    "impact": "stickslip.stepping.impact",
    "limit_cycle": "stickslip.analysis.limit_cycle",
    "link_energies": "stickslip.model.joints",
    "load": "stickslip.io.netcdf",
    "load_ensemble": "stickslip.io.sweeps",
    "lyapunov": "stickslip.analysis.lyapunov",
    "outcomes": "stickslip.analysis.outcomes",
    "painleve": "stickslip.analysis.painleve",
    "model_from_text": "stickslip.io.models.file",
    "model_text": "stickslip.io.models.file",
    "poincare": "stickslip.analysis.poincare",
    "read_friction_problem": "stickslip.io.friction_files",
    "read_model": "stickslip.io.models.file",
    "recurrence": "stickslip.analysis.lyapunov",
    "simulate": "stickslip.stepping.simulate",
    "solve_friction": "stickslip.complementarity.friction.solve",
    "solve_lcp": "stickslip.complementarity.solve",
    "solve_mlcp": "stickslip.complementarity.solve",
    "sweeping_process": "stickslip.stepping.sweeping",
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
