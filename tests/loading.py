"""Python files as modules: the examples, kernels that a test writes, files of a corpus."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"


def load(path: Path) -> ModuleType:
    """The file at ``path`` as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"loaded_{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module   # dataclasses look their module up here
    spec.loader.exec_module(module)
    return module


def written(path: Path, text: str) -> ModuleType:
    """``text``, written to ``path``, as a module."""
    path.write_text(text)
    return load(path)


def example(name: str) -> ModuleType:
    """An example, by its name (``"cta_copy"``, ``"broken/aligned"``)."""
    return load(EXAMPLES / f"{name}.py")
