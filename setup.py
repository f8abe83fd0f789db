"""Which folder is installed as which package; everything else about the project is in pyproject.toml.

``ptxspec/`` is installed as it is, ``backend/`` as ``ptxspec.backend`` and ``specs/`` as ``ptxspec.specs``. The list is
computed, so a new package needs no second mention here.
"""

from setuptools import Extension, find_packages, setup

FOLDERS = {"ptxspec": "ptxspec", "ptxspec.backend": "backend", "ptxspec.specs": "specs"}

packages = [
    name
    for root, folder in FOLDERS.items()
    for name in [root, *(f"{root}.{inner}" for inner in find_packages(folder))]
]

# Optional: without a C compiler the package is installed without it, and launches take the Python path.
calls = Extension("ptxspec.backend.native._calls", ["backend/native/_calls.c"], optional=True)

setup(packages=packages, package_dir=FOLDERS, ext_modules=[calls])
