"""`stickslip doctor`: what is installed, what it can use, and whether it works."""

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import stat
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from stickslip._version import __version__
from stickslip.bench.peers import Report, ask, find_package, find_siconos, version_of
from stickslip.cli.options import AsJson
from stickslip.cli.output import print_json

# Display name -> (module to import, distribution that carries the version).
_REQUIRED = {
    "NumPy": ("numpy", "numpy"),
    "SciPy": ("scipy", "scipy"),
    "llvmlite": ("llvmlite", "llvmlite"),
    "SymPy": ("sympy", "sympy"),
    "xarray": ("xarray", "xarray"),
    "h5netcdf": ("h5netcdf", "h5netcdf"),
    "h5py": ("h5py", "h5py"),
    "matplotlib": ("matplotlib", "matplotlib"),
    "Pillow": ("PIL", "pillow"),
}
_CLUSTER = {"Dask": ("dask", "dask"), "distributed": ("distributed", "distributed")}
_PEERS = {
    "quantecon": ("quantecon", "quantecon"),
    "lemkelcp": ("lemkelcp", "lemkelcp"),
    "mujoco": ("mujoco", "mujoco"),
    "pybullet": ("pybullet", "pybullet"),
    "pydrake": ("pydrake", "drake"),
}
_JUDGES = {"coal": ("coal", "coal")}


def doctor(
    as_json: AsJson = False,
    clean_cache: Annotated[
        bool, typer.Option("--clean-cache", help="Empty the kernel cache; what is needed again is compiled again.")
    ] = False,
) -> None:
    """Report what is installed: packages, cores, GPU, Dask, peers, kernel cache.

    Machine code that nobody has used for a month is removed from the cache by itself.

    Also solves a small complementarity problem. Exit code 0 when every required package imports and the
    answer is right, else 1.
    """
    removed = None
    if clean_cache:
        from stickslip.jit.cache import cache_files, remove

        removed = remove(cache_files())
    report = examine()
    if removed is not None:
        report["cache"]["removed"] = {"files": removed.files, "bytes": removed.bytes}
    if as_json:
        print_json(report, indent=2)
    else:
        _show(report)
    if not report["ok"]:
        raise typer.Exit(1)


def examine() -> Report:
    """Collect the report that `doctor` prints; plain values only, ready for JSON."""
    packages = {name: _import_package(*where) for name, where in _REQUIRED.items()}
    self_check = _self_check()
    return {
        "stickslip": __version__,
        "python": {
            "version": platform.python_version(),
            "executable": sys.executable,
            "platform": platform.platform(),
        },
        "packages": packages,
        "cpu": _examine_cpu(),
        "gpu": _examine_gpu(),
        "cluster": {name: find_package(*where) for name, where in _CLUSTER.items()},
        "judges": {name: find_package(*where) for name, where in _JUDGES.items()},
        "peers": {
            **{name: find_package(*where) for name, where in _PEERS.items()},
            "siconos": find_siconos(),
        },
        "cache": _examine_cache(),
        "self_check": self_check,
        "ok": self_check["ok"] and all(package["error"] is None for package in packages.values()),
    }


def _import_package(module: str, distribution: str) -> Report:
    """Import a required package: an installed one can still be broken."""
    try:
        importlib.import_module(module)
    except Exception as error:
        return {"version": version_of(distribution), "error": f"{type(error).__name__}: {error}"}
    return {"version": version_of(distribution), "error": None}


def _examine_cpu() -> Report:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cores": os.cpu_count(), "usable_cores": usable}


def _examine_gpu() -> Report:
    version = version_of("cuda-bindings")
    devices: list[str] = []
    if version is None:
        seen = ask("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
        devices = seen.splitlines() if seen else []
        if devices:
            message = "a GPU is here but cuda-bindings is not: pip install 'stickslip[gpu]'"
        else:
            message = "cuda-bindings is not installed; ensembles run on the CPU"
        return {"cuda_bindings": None, "usable": False, "devices": devices, "message": message}
    try:
        from stickslip.jit.card import card

        devices = [f"{card().name} (compute capability {card().capability / 10})"]
        message = "ready"
    except Exception as error:
        message = f"no GPU that can be used ({' '.join(str(error).split()).rstrip('.')}); ensembles run on the CPU"
    return {"cuda_bindings": version, "usable": bool(devices), "devices": devices, "message": message}


def _examine_cache() -> Report:
    """The content of the cache folder in use, and the folder that was asked for where another one is used."""
    from stickslip.jit.cache import other_texts, used_folder
    from stickslip.jit.vault import cache_folder, reason_left

    asked_for = cache_folder()
    used = used_folder() if os.path.lexists(asked_for) else asked_for
    folder = used or asked_for
    report: Report = {
        "path": str(folder),
        "exists": folder.is_dir(),
        "mode": None,
        "files": 0,
        "bytes": 0,
        "writable": used is not None and _writable(folder),
        "left_alone": None,
    }
    reason = reason_left(asked_for)
    if reason is not None:
        report["left_alone"] = {"path": str(asked_for), "reason": reason}
    if used is not None and used.is_dir():
        sizes = [path.stat().st_size for path in used.rglob("*") if path.is_file()]
        others = [path.stat().st_size for path in other_texts()]
        report |= {
            "mode": f"{stat.S_IMODE(used.stat().st_mode):04o}",
            "files": len(sizes),
            "bytes": sum(sizes),
            "texts_of_other_versions": {"files": len(others), "bytes": sum(others)},
        }
    return report


def _writable(folder: Path) -> bool:
    """Whether we may write there, or create it where it does not exist."""
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def _self_check() -> Report:
    """Solve y = A x + b, 0 <= y perp x >= 0 with the known answer x = (4/3, 7/3), y = 0."""
    start = time.perf_counter()
    try:
        import numpy as np

        from stickslip.lcp.solve import solve_lcp

        solution = solve_lcp(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-5.0, -6.0]))
        right = bool(solution.solved) and np.allclose(solution.x, [4 / 3, 7 / 3], rtol=0, atol=1e-12)
        message = "LCP solved" if right else f"LCP answered x = {solution.x}, {solution.status}"
    except Exception as error:
        right, message = False, f"{type(error).__name__}: {error}"
    return {"ok": right, "message": message, "seconds": round(time.perf_counter() - start, 3)}


def _show(report: Report) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()

    def section(title: str) -> None:
        console.print(Text(title, style="bold"))

    def row(name: str, value: str, style: str = "") -> None:
        console.print(Text(f"  {name:<14}{value}", style=style), soft_wrap=True)

    python, cpu, gpu, cache = report["python"], report["cpu"], report["gpu"], report["cache"]
    section(f"stickslip {report['stickslip']}")
    row("Python", f"{python['version']}  {python['executable']}")
    row("platform", python["platform"])
    for name, package in report["packages"].items():
        if package["error"] is None:
            row(name, package["version"] or "unknown version")
        else:
            row(name, f"does not import: {package['error']}", "red")

    section("Processors")
    row("cores", f"{cpu['cores']}, of which {cpu['usable_cores']} usable")
    row("cuda-bindings", gpu["cuda_bindings"] or "not installed", "" if gpu["cuda_bindings"] else "dim")
    row("GPU", "; ".join([*gpu["devices"], gpu["message"]]), "" if gpu["usable"] else "dim")

    for title, group in (
        ("Cluster", report["cluster"]),
        ("Judge of distances in scenes", report["judges"]),
        ("Peers for `stickslip bench`", report["peers"]),
    ):
        section(title)
        for name, package in group.items():
            if not package["installed"]:
                row(name, "not installed", "dim")
                continue
            other_python = package.get("python") not in (None, python["executable"])
            where = f"  in {package['python']}" if other_python else ""
            row(name, f"{package['version'] or 'unknown version'}{where}")

    section("Kernel cache")
    row("folder", cache["path"] if cache["exists"] else f"{cache['path']}  (not created yet)")
    if cache["mode"] is not None:
        if "removed" in cache:
            row("removed", f"{cache['removed']['files']} files, {cache['removed']['bytes'] / 1e6:.1f} MB")
        old = cache["texts_of_other_versions"]
        kept = f", texts of other versions {old['files']} files, {old['bytes'] / 1e6:.1f} MB" if old["files"] else ""
        row("content", f"{cache['files']} files, {cache['bytes'] / 1e6:.1f} MB{kept} (--clean-cache empties it)")
        row("mode", cache["mode"])
    if cache["left_alone"] is not None:
        left = cache["left_alone"]
        row("left alone", f"{left['path']}: {left['reason']}; delete it, a new one will be made", "red")
    if not cache["writable"]:
        row("writable", "no: name a folder of your own in STICKSLIP_CACHE", "red")

    section("Self check")
    check = report["self_check"]
    word = "passed" if check["ok"] else "FAILED"
    row(word, f"{check['message']} ({check['seconds']:.2f} s)", "green" if check["ok"] else "red")
