"""ptxspec: PTX instruction forms as data, and what follows from them.

The public names are loaded on first use, so ``import ptxspec`` costs nothing of z3, numpy, pydantic, YAML or the
backend.
"""

from __future__ import annotations

from importlib import import_module

from ptxspec._version import __version__

# public name -> (module, attribute); an empty attribute is the module itself
_LAZY: dict[str, tuple[str, str]] = {}

__all__ = ["__version__"]


def __getattr__(name: str) -> object:
    """Load a public name on first use and keep it."""
    try:
        module, attribute = _LAZY[name]
    except KeyError:
        raise AttributeError(f"module 'ptxspec' has no attribute {name!r}") from None
    loaded = import_module(module)
    value: object = getattr(loaded, attribute) if attribute else loaded
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
