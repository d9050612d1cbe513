"""`stickslip compare-laws NAME`: one oblique impact under every impact law, with the energy book open."""

from typing import TYPE_CHECKING, Any

from stickslip.cli.impact_map import collision_named, fixed_values, parse_values, quantities, unit_after
from stickslip.cli.options import AsJson, Collision, Quantities
from stickslip.cli.output import print_json

if TYPE_CHECKING:
    from stickslip.impacts.impact import Impact
    from stickslip.laws import ImpactLaw

_COLUMNS = {
    "normal_impulse": "Lambda_N", "tangential_impulse": "Lambda_T", "normal_velocity_after": "gamma_N+",
    "tangential_velocity_after": "gamma_T+", "energy_change": "T+ - T-", "energy_ratio": "T+/T-",
}  # fmt: skip


def compare_laws(
    name: Collision,
    settings: Quantities = None,
    as_json: AsJson = False,
) -> None:
    """Solve one oblique impact by every law and print impulses [N s], velocities [m/s] and energy [J] side by side.

    Quantities of the bar: angle, ratio (or tangential_velocity), normal_velocity, friction, restitution_normal,
    restitution_tangential, mass, half_length, inertia; of kane_pendulum: th_1, th_2, omega_1, omega_2, mass, length and
    the coefficients.
    """
    collision = collision_named(name)
    values = parse_values(settings or [], collision, name)
    given = quantities(collision, values)
    q, u, params = collision.state(given)
    rows = []
    for label, law in laws(given["restitution_normal"], given["restitution_tangential"]).items():
        rows.append({"law": label, **_row(collision.system, q, u, law, params)})
    solved = [row for row in rows if row["refused"] is None]
    result = {"system": name, "values": fixed_values(collision, values), "before": _before(solved[0]), "laws": rows}
    if as_json:
        print_json(result, indent=2)
    else:
        _show(result)


def laws(eps_N: float, eps_T: float) -> dict[str, "ImpactLaw"]:
    """Every law, with the given coefficients; where those are unequal, Newton and Poisson with equal ones, too."""
    import stickslip as ss

    chosen: dict[str, ImpactLaw] = {f"Newton, eps_T = {eps_T:g}": ss.Newton()}
    if eps_T != eps_N:
        chosen[f"Newton, eps_T = {eps_N:g}"] = ss.Newton(restitution_tangential=eps_N)
    chosen[f"Poisson, eps_T = {eps_T:g}"] = ss.Poisson()
    if eps_T != eps_N:
        chosen[f"Poisson, eps_T = {eps_N:g}"] = ss.Poisson(restitution_tangential=eps_N)
    return {
        **chosen,
        "Poisson, integrated": ss.Poisson(model="integrated"),
        "Stronge": ss.Stronge(),
        "Stronge, lumped": ss.Stronge(model="lumped"),
        f"Walton, eps_T = {eps_T:g}": ss.Walton(),
        f"Chatterjee-Ruina, {eps_T:g}": ss.ChatterjeeRuina(),
        "Ratios of stiffness": ss.StiffnessRatios(),
    }


def _row(system: Any, q: Any, u: Any, law: "ImpactLaw", params: dict[str, Any]) -> dict[str, Any]:
    from stickslip.impacts.impact import impact
    from stickslip.laws import Newton

    try:
        hit: Impact = impact(system, q, u, law, params=params)
    except ValueError as error:
        if isinstance(law, Newton):
            raise  # Newton's law refuses nothing but a wrong request
        return {"refused": str(error)}
    return {
        "refused": None,
        "state": str(hit.contact_state[0]),
        "reversal": bool(hit.reversal[0]),
        "normal_impulse": float(hit.normal_impulse[0]),
        "tangential_impulse": float(hit.tangential_impulse[0]),
        "normal_velocity_before": float(hit.normal_velocity_before[0]),
        "tangential_velocity_before": float(hit.tangential_velocity_before[0]),
        "normal_velocity_after": float(hit.normal_velocity_after[0]),
        "tangential_velocity_after": float(hit.tangential_velocity_after[0]),
        "velocities_after": [float(value) for value in hit.u],
        "energy_before": float(hit.energy_before),
        "energy_change": float(hit.energy_change),
        "energy_normal": float(hit.energy_normal),
        "energy_tangential": float(hit.energy_tangential),
        "energy_ratio": float(hit.energy_after / hit.energy_before) if hit.energy_before > 0.0 else None,
        "residual": float(hit.residual),
        "solved": bool(hit.solved),
    }


def _before(row: dict[str, Any]) -> dict[str, float]:
    return {
        "normal_velocity": row["normal_velocity_before"],
        "tangential_velocity": row["tangential_velocity_before"],
        "energy": row["energy_before"],
    }


def _unit(column: str) -> str:
    units = {"impulse": "N s", "velocity": "m/s", "change": "J", "ratio": "-"}
    return next(f"[{unit}]" for word, unit in units.items() if word in column)


def _show(result: dict[str, Any]) -> None:
    before, rows = result["before"], result["laws"]
    print(f"{result['system']}: one impact under every law")
    print("  " + ", ".join(f"{key} {value:g}{unit_after(key)}" for key, value in result["values"].items()))
    print(
        f"  before: gamma_N {before['normal_velocity']:.6g} m/s, gamma_T {before['tangential_velocity']:.6g} m/s, "
        f"T {before['energy']:.6g} J"
    )
    print()
    print(f"{'':23}" + "".join(f"{head:>13}" for head in _COLUMNS.values()) + "  state")
    print(f"{'':23}" + "".join(f"{_unit(key):>13}" for key in _COLUMNS))
    for row in rows:
        if row["refused"] is not None:
            print(f"{row['law']:<23}  refused: {row['refused']}")
            continue
        numbers = "".join(f"{'-':>13}" if row[key] is None else f"{_zero(row[key]):13.7f}" for key in _COLUMNS)
        marks = [row["state"], *(["reverses"] if row["reversal"] else []), *(["GAINS ENERGY"] if _gains(row) else [])]
        print(f"{row['law']:<23}{numbers}  {', '.join(marks)}")
    solved = [row for row in rows if row["refused"] is None]
    print()
    if _agree(solved):
        print("All laws agree: the contact slips one way throughout, [PG05] (58), (59).")
    gaining = [row["law"] for row in solved if _gains(row)]
    if gaining:
        print(f"Kinetic energy grows under {'; '.join(gaining)}.")
    worst = max(row["residual"] for row in solved)
    print(f"check: {sum(row['solved'] for row in solved)} of {len(solved)} solved, worst residual {worst:.1e}")


def _zero(value: float) -> float:
    """No minus sign before a zero that round-off made negative."""
    return 0.0 if abs(value) < 5e-8 else value


def _gains(row: dict[str, Any]) -> bool:
    return bool(row["energy_change"] > 1e-9 * row["energy_before"])


def _agree(rows: list[dict[str, Any]]) -> bool:
    """Same impulses everywhere, and on the bound of friction."""
    first = rows[0]
    size = 1e-9 * max(first["normal_impulse"], 1e-300)
    keys = ("normal_impulse", "tangential_impulse")
    return "slip" in first["state"] and all(abs(row[key] - first[key]) <= size for row in rows for key in keys)
