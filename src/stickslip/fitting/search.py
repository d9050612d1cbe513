"""The search of a fit: points over the ranges, refinements, noise, and motions in pieces where they are chaotic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.stats import qmc

from stickslip.checks import Array, counted
from stickslip.fitting.experiments import Experiment, Motion, Stepped, Unpredictable
from stickslip.fitting.following import followed
from stickslip.fitting.notes import Notes
from stickslip.fitting.problem import Problem
from stickslip.fitting.shooting import in_pieces
from stickslip.fitting.subject import Subject
from stickslip.fitting.together import Look, score

_STARTS = 3  # points of the search that are refined
_PARTS = (0.25, 0.5)  # of the time that is measured: a motion is first fitted where it begins
_NEAR = 3.0  # standard deviations: a motion that is no further off is fitted whole at once
_BEGIN = 15  # predictions of a refinement on a part, or with looser ties
_AGREE = 1e-4  # shares of ranges by which two minima may differ and be one
_ROUNDS = 4  # of fitting, and estimating the noise
_TIES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # shares of what states range over by which pieces may be apart
_LAST_TIE = 1e-3  # of the least noise: pieces are one motion
_CUTS = 6  # most times that motions are cut, each with the values that suit the pieces of the time before
_MET = 1.2  # sum of squares per number at which pieces that need not meet follow the samples
_CHAOS = 1e2  # growth of a small distance over a motion that counts as chaotic
_MISSED = 2.0  # chi^2 per degree of freedom from which on a fit misses the data
_FEW = 3  # samples of a piece, at least
_PIECES = 24  # at most
_Whole = tuple[Array, float, tuple[str, ...]]  # unknowns of motions in one piece, sum of squares, remarks
_FOLLOWED = "found by following the chaotic motion from its start: single shooting ends in another minimum"


@dataclass(frozen=True)
class Search:
    """What a search is asked for.

    own : the model's own values of the free quantities; None where it has none
    count, seed : points of the search, and their seed
    estimate : whether the noise comes from the residuals
    device : where the points of the search run, as an ensemble
    """

    own: Array | None
    count: int
    seed: int
    estimate: bool
    kept: Notes
    report: Callable[..., None]
    device: str = "cpu"

    def found(
        self, problem: Problem, subject: Subject, pieces: int | None
    ) -> tuple[Problem, Array, float, tuple[str, ...]]:
        """The problem that was solved, its unknowns, their sum of squares, and remarks.

        Motions in pieces that are one motion in the end are handed on as one: its sum of squares is as low.
        """
        if pieces == 1 or not any(isinstance(each, Motion | Stepped) for each in problem.experiments):
            return (problem, *self.best(problem, subject=subject), ())
        least: _Whole | None = None
        if pieces is None:
            least = (*self.best(problem, subject=subject), ())
            pieces = self._pieces_needed(problem, *least[:2])
            if pieces < 2:
                return problem, *least
            least = self._follow(problem, points_of(problem, self.own, 0, self.seed)[0], "the start", least)
            if self._meets(problem, least[1]):
                return problem, *least
        z = points_of(problem, self.own, 0, self.seed)[0] if least is None else least[0]
        for number in range(_CUTS):
            self.report(f"cut {number + 1} into {counted(pieces, 'piece')}")
            z, apart = self.kept.vector(f"cut {number}", partial(self._loosened, problem, subject, pieces, z))
            if number and apart < _MET * problem.count:
                break
        if not self.estimate:
            least = self._follow(problem, z, "the pieces", least)
            if self._meets(problem, least[1]):
                return problem, *least
        cut = self._cut(problem, subject, pieces, z)
        near = replace(self, own=problem.values(z), count=0)
        z, chi2 = near.best(cut, f" in {counted(pieces, 'piece')}")
        return self._joined(problem, cut, z, chi2, least)

    def _follow(self, problem: Problem, z: Array, since: str, least: _Whole | None) -> _Whole:
        """The lower one of a minimum that was found before, if any, and that which is reached from z by following the
        motions as far as they meet their samples.
        """

        def tell(share: float) -> None:
            self.report(f"following the motion from the values of {since}: {100.0 * share:.0f} % of it")

        found, chi2 = self.kept.vector(f"followed from {since}", partial(followed, problem, z, tell))
        if least is None:
            return found, chi2, ()
        return (found, chi2, (_FOLLOWED,)) if chi2 < least[1] else least

    def _meets(self, problem: Problem, chi2: float) -> bool:
        """Whether a sum of squares is what the noise makes."""
        return chi2 < _MISSED * max(1, problem.count - problem.size)

    def _loosened(self, problem: Problem, subject: Subject, pieces: int, z: Array) -> tuple[Array, float]:
        """Free quantities that suit pieces which need not meet; pieces cut anew with them begin in better places."""
        cut = self._cut(problem, subject, pieces, z)
        cut.tie(_TIES[0])
        points = [z, *points_of(problem, None, self.count, self.seed)] if self.count else [z]
        begin = min(points, key=lambda each: score(cut, cut.shares(problem.values(each))))
        found, chi2 = cut.refine(cut.shares(problem.values(begin)), tries=_BEGIN)
        return problem.shares(np.clip(cut.values(found), problem.low, problem.high)), chi2

    def _pieces_needed(self, problem: Problem, z: Array, chi2: float) -> int:
        """1 where single shooting has met the data, nobody knows whether it has, or the motion is not chaotic."""
        if self.estimate or self._meets(problem, chi2):
            return 1
        growth, shortest = 1.0, problem.count
        first = points_of(problem, self.own, 0, self.seed)[0]
        for number, experiment in enumerate(problem.experiments):
            if isinstance(experiment, Motion):
                for where, at in (("", z), (" at the start", first)):  # a wrong minimum may be a calm one
                    rise = self.kept.number(f"growth {number}{where}", partial(_growth, problem, number, at))
                    growth = max(growth, rise)
                shortest = min(shortest, len(experiment.data.t))
        if growth < _CHAOS:
            return 1
        return int(min(2 + np.ceil(np.log10(growth)), _PIECES, shortest // _FEW))

    def _cut(self, problem: Problem, subject: Subject, pieces: int, z: Array) -> Problem:
        """The problem with every motion in pieces, whose starts suit the samples at z."""
        values = dict(zip(problem.names, problem.values(z).tolist(), strict=True))
        experiments: list[Experiment] = []
        for each in problem.experiments:
            if isinstance(each, Motion | Stepped):
                count = min(pieces, max(1, len(each.data.t) // _FEW))
                experiments.append(in_pieces(each, subject.states, count, values, problem.sigma))
            else:
                experiments.append(each)
        return Problem(experiments, problem.names, problem.low, problem.high, problem.deviations, dict(problem.sigma))

    def _joined(
        self, problem: Problem, cut: Problem, z: Array, chi2: float, least: _Whole | None
    ) -> tuple[Problem, Array, float, tuple[str, ...]]:
        """One motion from pieces where it is as near to the data, or the pieces, or what was found before."""
        whole = problem.shares(problem.values(np.clip(z[: len(cut.names)], 0.0, 1.0)))
        for mine, other in zip(problem.locals, cut.locals, strict=True):
            for place, same in zip(mine, other, strict=False):
                whole[place.at] = z[same.at]
        problem.sigma.update({name: cut.sigma[name] for name in problem.sigma})
        whole, joined = self.kept.vector("joined", lambda: problem.refine(whole))
        if least is not None and least[1] <= min(joined, chi2):
            return problem, *least
        if joined <= chi2 * 1.05 + 1.0:
            told = "found by multiple shooting: single shooting ends in another minimum"
            return problem, whole, joined, () if least is None else (told,)
        remark = (
            "the motion is chaotic beyond what one start can tell: its pieces are tied to a thousandth of the noise"
        )
        return cut, z, chi2, (remark,)

    def best(self, problem: Problem, how: str = "", subject: Subject | None = None) -> tuple[Array, float]:
        """Search, then refine the best points on growing parts of the data, and settle the noise.

        subject : of whose motions an ensemble can be made; None: of pieces
        """
        points = points_of(problem, self.own, self.count, self.seed)
        problem.tie(_TIES[0])
        self.report(f"search{how}")
        scores = Look(self.device, self.kept, self.report, how).at(problem, points, subject)
        order = np.argsort(scores, kind="stable")[:_STARTS]
        if not scores[order[0]] < float(np.mean(np.log1p(problem.lost**2))):
            raise RuntimeError(
                f"no point of the search has a motion: {_why(problem, points[order[0]]).rstrip('.')}; look at the "
                "data, or give other ranges for free=."
            )
        found: list[tuple[Array, float]] = []
        for number, k in enumerate(order):
            self.report(f"refinement{how} {number + 1} of {len(order)}")
            near = bool(scores[k] < np.log1p(_NEAR**2))
            found.append(self.kept.vector(f"refined{how} {number}", partial(_grown, problem, points[k], near)))
            if number and np.max(np.abs(found[0][0] - found[1][0])) < _AGREE and found[0][1] < 1.001 * found[1][1]:
                break  # two points of the search lead to one minimum
        z, chi2 = min(found, key=lambda each: each[1])
        return self._settled(problem, z, chi2, how) if self.estimate else (z, chi2)

    def _settled(self, problem: Problem, z: Array, chi2: float, how: str) -> tuple[Array, float]:
        """Unknowns and sum of squares with the noise that the residuals speak for."""
        for number in range(_ROUNDS):
            self.report(f"noise{how}, round {number + 1}")
            before = dict(problem.sigma)
            problem.sigma.update(problem.spreads(z))
            if len(before) == 1 and not problem.deviations:  # one noise for all: the minimum stays where it is
                return z, float(np.sum(problem.residuals(z) ** 2))
            z, chi2 = self.kept.vector(f"noise{how} {number}", partial(problem.refine, z))
            if all(abs(problem.sigma[name] / before[name] - 1.0) < 1e-3 for name in before):
                break
        return z, chi2


def _grown(problem: Problem, z: Array, near: bool) -> tuple[Array, float]:
    """The minimum near a point: of growing parts of the data, or of pieces with ever tighter ties, then of all."""
    if problem.tied.any():
        least = min(problem.noise_shares(), default=1.0)
        for share in (*(x for x in _TIES if x > _LAST_TIE * least), _LAST_TIE * least):
            problem.tie(share)
            z = problem.refine(z, tries=_BEGIN)[0]
        return problem.refine(z)
    last = float(np.max(problem.t))
    for part in _PARTS if last > 0.0 and not near else ():
        z = problem.refine(z, until=part * last, tries=_BEGIN)[0]
    return problem.refine(z)


def points_of(problem: Problem, own: Array | None, count: int, seed: int) -> list[Array]:
    """The model's own values where they lie in the ranges, and a low-discrepancy sequence."""
    points = []
    if own is not None:
        points.append(problem.shares(np.clip(own, problem.low, problem.high)))
    if count:
        sequence = qmc.Sobol(len(problem.names), seed=seed)
        size = 1 << max(0, (count - 1).bit_length())
        for row in sequence.random(size)[:count]:
            points.append(problem.shares(problem.low + row * problem.width))
    return points or [problem.shares(0.5 * (problem.low + problem.high))]


def _growth(problem: Problem, number: int, z: Array) -> float:
    """By how much a small distance at the start of a motion has grown at its end, in spreads of the quantities."""
    experiment = problem.experiments[number]
    assert isinstance(experiment, Motion)
    system = experiment.scenario.system
    states = (*system.coordinate_names, *system.velocity_names)
    values = {**experiment.data.start, **problem.of(number, z)}
    own = dict(zip(states, (*experiment.scenario.q0.tolist(), *experiment.scenario.u0.tolist()), strict=True))
    try:
        x, X = experiment.motion({**own, **values}, states)
    except Unpredictable:
        return 1.0
    spread = np.maximum(np.std(x, axis=0), 1e-300)
    rise = np.abs(X) * spread[None, None, :] / spread[None, :, None]
    late = rise[len(rise) // 2 :]
    return float(np.max(late[np.isfinite(late)], initial=1.0))


def _why(problem: Problem, z: Array) -> str:
    for number, experiment in enumerate(problem.experiments):
        try:
            experiment.predict(problem.of(number, z), np.inf)
        except Unpredictable as error:
            return str(error)
    return "all predictions are far off"
