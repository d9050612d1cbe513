"""`python -m tests.fuzz [TARGET ...]`: many changed inputs for the readers; what goes wrong is kept as a file.

With --atheris (where that package is installed) inputs that reach new lines are kept and changed further.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import random
import sys
import time
import traceback
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
_SLOW = 0.5  # seconds of the processor, from which the slowest input is kept to be looked at
_PATIENCE = 60.0  # seconds, after which an input that does not end is shown with its stack


def corpus(target: str) -> list[bytes]:
    """Inputs that once went wrong."""
    return [path.read_bytes() for path in sorted((CORPUS / target).glob("*"))]


def fuzz(name: str, count: float, seconds: float, seed: int, findings: Path) -> tuple[int, int, float]:
    """Run a target on a number of inputs or for a time; return (inputs, failures, longest processor time [s])."""
    from tests.fuzz.mutation import mutated
    from tests.fuzz.targets import TARGETS

    target, random_ = TARGETS[name], random.Random(seed)
    seeds = [*target.seeds(), *corpus(name)]
    for known in seeds:
        target.run(known)  # caches are filled, and seeds must pass
    begin, done, failures, longest = time.monotonic(), 0, 0, 0.0
    while done < count and time.monotonic() - begin < seconds:
        data = mutated(seeds, target.words, random_)
        faulthandler.dump_traceback_later(_PATIENCE, exit=True)
        start = time.process_time()
        try:
            target.run(data)
        except Exception:
            failures += 1
            _keep(findings, name, data)
        taken = time.process_time() - start
        if taken > max(longest, _SLOW):
            (findings / f"{name}-slowest").parent.mkdir(parents=True, exist_ok=True)
            (findings / f"{name}-slowest").write_bytes(data)
        longest, done = max(longest, taken), done + 1
    faulthandler.cancel_dump_traceback_later()
    return done, failures, longest


def _keep(findings: Path, name: str, data: bytes) -> None:
    folder = findings / name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / hashlib.sha256(data).hexdigest()[:16]
    path.write_bytes(data)
    print(f"{name}: {path}\n{traceback.format_exc(limit=-4)}", file=sys.stderr)


def fuzz_with_atheris(name: str, count: float, seconds: float, seed: int, findings: Path) -> None:
    """Run a target under libFuzzer, which ends the process; inputs that reach new lines lie in `findings`."""
    import atheris

    with atheris.instrument_imports(include=["stickslip.io", "stickslip.page"]):
        from tests.fuzz.targets import TARGETS
    target, known = TARGETS[name], findings / f"{name}-reached"
    known.mkdir(parents=True, exist_ok=True)
    for i, data in enumerate([*target.seeds(), *corpus(name)]):
        target.run(data)
        (known / f"seed{i}").write_bytes(data)
    limits = [f"-runs={int(count)}", f"-max_total_time={int(min(seconds, 1e6))}", "-timeout=10", "-max_len=20000"]
    options = [*limits, f"-seed={seed}", f"-artifact_prefix={findings}/{name}-", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], str(known), *options], lambda data: target.run(bytes(data)))
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", nargs="*", help="expressions, models, ...; all if none is named")
    parser.add_argument("--count", type=float, default=1e5, help="inputs of each target")
    parser.add_argument("--seconds", type=float, default=1e9, help="at most, of each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="folder for what goes wrong")
    parser.add_argument("--atheris", action="store_true", help="guided by coverage; one target at a time")
    chosen = parser.parse_args()
    if chosen.atheris:
        if len(chosen.target) != 1:
            parser.error("--atheris takes one target at a time")
        fuzz_with_atheris(chosen.target[0], chosen.count, chosen.seconds, chosen.seed, chosen.findings)
    from tests.fuzz.targets import TARGETS

    unknown = [name for name in chosen.target if name not in TARGETS]
    if unknown:
        parser.error(f"there is no target {unknown[0]!r}; one of {', '.join(TARGETS)}")
    failures = 0
    for name in chosen.target or TARGETS:
        begin = time.monotonic()
        done, failed, longest = fuzz(name, chosen.count, chosen.seconds, chosen.seed, chosen.findings)
        wall = time.monotonic() - begin
        print(f"{name:14}{done:10,} inputs in {wall:7.1f} s, longest {longest:.2f} s, {failed} failed", flush=True)
        failures += failed
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
