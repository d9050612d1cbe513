"""Parts that the descriptions of several kinds of model files share."""

from __future__ import annotations

from stickslip.io.models.fields import Key, ListOf, Number, Text

FORMAT = 1
"""Version of the format, the value of the key `stickslip`."""
NUMBER, POSITIVE, NOT_NEGATIVE, UNIT_INTERVAL = Number(), Number(above=0.0), Number(least=0.0), Number(0.0, 1.0)
EXPRESSION, TEXT = Text(expression=True), Text()
POINT = ListOf(NUMBER, 2, 3)
STEPPERS = ("moreau-midpoint", "moreau-jean", "paoli-schatzman", "stewart-trinkle", "adaptive", "event-driven")
SOLVERS = ("auto", "lemke", "gauss-seidel", "enumerate", "newton", "augmented-lagrangian", "alternating")
IMPACT_LAWS = (
    "newton", "poisson", "poisson-integrated", "stronge", "stronge-lumped", "walton", "chatterjee-ruina",
    "stiffness-ratios", "stiffness-ratios-hertz",
)  # fmt: skip
SCENE_LAWS = (
    "newton", "stronge", "poisson", "poisson-at-once", "poisson-integrated", "walton", "chatterjee-ruina",
    "stiffness-ratios", "stiffness-ratios-hertz",
)  # fmt: skip


def head(kind: str) -> dict[str, Key]:
    """Keys at the top of a model file of a kind, such as "scene"."""
    return {
        "stickslip": Key(Number(whole=True), f"version of the format, {FORMAT}", required=True),
        "name": Key(TEXT, f"name of the {kind}, for messages and files", required=True),
        "title": Key(TEXT, "one line for figures"),
        "source": Key(TEXT, "paper, drawing or person it comes from"),
    }


TIMES = {
    "dt": Key(POSITIVE, "step size [s]", required=True),
    "t_end": Key(POSITIVE, "end time [s]", required=True),
}
