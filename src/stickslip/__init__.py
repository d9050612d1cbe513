"""Rigid-body dynamics with friction and impact.

The public names are listed in `__init__.pyi`, one line each, and nowhere else: type checkers, editors and this file
read `__init__.pyi`. Each name is imported when it is first used. So `import stickslip` costs next to nothing, and a
script that only solves an LCP never loads SymPy, matplotlib or HDF5.

A new public name needs one line in `__init__.pyi`: `from stickslip.room.module import name as name`.
"""

from importlib import import_module
from typing import Any

_HOME: dict[str, tuple[str, str]] = {}  # public name -> module, and name there; of a module, its package and name
for _line in __spec__.loader.get_data(f"{__path__[0]}/__init__.pyi").decode().splitlines():  # works in archives, too
    match _line.split():
        case ["from", _module, "import", _name, "as", _public]:
            _HOME[_public] = (_module, _name)
        case [_public, "=", _name]:  # an old name
            _HOME[_public] = _HOME[_name]

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562) and keep it."""
    if name not in _HOME:
        raise AttributeError(f"module 'stickslip' has no attribute {name!r}")
    module, own = _HOME[name]
    if module == __name__:
        value: Any = import_module(f"{module}.{own}")
    else:
        value = getattr(import_module(module), own, None) or import_module(f"{module}.{own}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return list(__all__)
