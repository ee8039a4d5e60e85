"""Starts a worker under an interpreter where adstack is not installed.

Called `python standalone.py MODULE ARCH FOLDER OPTIONS`.
Cases and the worker call this tree's conformance package `adstack.conformance`. Here that name is given to the tree,
under an empty package `adstack`, before anything is imported.
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def give_names(conformance: Path) -> None:
    """Make the folder importable as `adstack.conformance`."""
    house = ModuleType("adstack")
    house.__path__ = []
    sys.modules["adstack"] = house
    spec = importlib.util.spec_from_file_location(
        "adstack.conformance", conformance / "__init__.py", submodule_search_locations=[str(conformance)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != here]
    give_names(here.parent)
    from adstack.conformance.harness.worker import main

    main(*sys.argv[1:])
