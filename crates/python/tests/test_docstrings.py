"""Docstrings of all that is public: arguments, shapes, units, errors."""

import importlib
import inspect

import jostle
import pytest

MODULES = ["ase", "openmm", "parmed", "mdanalysis"]


def public():
    """Names and objects of the package, its modules of other packages, and the public members of its classes."""
    found = {f"jostle.{name}": getattr(jostle, name) for name in jostle.__all__ if name != "__version__"}
    for name in MODULES:
        try:
            module = importlib.import_module(f"jostle.{name}")
        except ImportError:
            continue
        found |= {f"jostle.{name}.{public}": getattr(module, public) for public in module.__all__}
    for name, thing in list(found.items()):
        if inspect.isclass(thing):
            own = [base for base in thing.__mro__ if base.__module__.startswith("jostle")]
            members = {member: value for base in reversed(own) for member, value in vars(base).items()}
            # Lists and the like have no docstring of their own.
            documented = {m: v for m, v in members.items() if not m.startswith("_") and not isinstance(v, (list, dict))}
            found |= {f"{name}.{member}": value for member, value in documented.items()}
    return found


PUBLIC = public()


def text(thing):
    return inspect.getdoc(thing) or ""


def function(thing):
    """The function behind a method; None for other things."""
    if isinstance(thing, (classmethod, staticmethod)):
        return thing.__func__
    return thing if inspect.isfunction(thing) else None


def test_the_list_is_that_of_the_package():
    assert {"jostle.Simulation.positions", "jostle.Simulation.run", "jostle.run_many", "jostle.rdf"} <= set(PUBLIC)
    shown = {name for name in dir(jostle) if not name.startswith("_")}
    modules = {name for name in shown if inspect.ismodule(getattr(jostle, name, None))}
    assert shown - modules - set(jostle.__all__) <= {"from_ase", "from_mdanalysis", "from_openmm", "from_parmed", "TYPE_CHECKING"}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_docstrings_say_what_is_needed(name):
    thing = PUBLIC[name]
    said = text(thing)
    assert said.strip(), "there is no docstring"
    if isinstance(thing, property):
        returned = str(thing.fget.__annotations__.get("return", ""))
        if "NDArray" in returned:
            assert "shape" in said or "(n, " in said
        if any(kind in returned for kind in ["float", "Table", "Record"]):
            assert "unit" in said, "a number without its unit"
        return
    of = function(thing)
    if of is None:
        return
    own = [p for p in inspect.signature(of).parameters.values() if p.name not in ("self", "cls", "function")]
    if name.rsplit(".", 1)[-1] in jostle._analysis.functions:
        return  # Their settings are those of the registry, with units and defaults.
    for parameter in own:
        variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ase_calls = name == "jostle.ase.Jostle.calculate"
        assert variadic or ase_calls or f"{parameter.name}" in said, f"nothing about {parameter.name}"
    raises_nothing = name.rsplit(".", 1)[-1] in ("open", "to_pandas", "to_polars", "end", "on_device")
    if own and not raises_nothing:
        assert "Raises:" in said, "nothing about errors"


def test_every_analysis_names_the_units_of_its_settings():
    for kind, _, settings in jostle._jostle.analysis_kinds():
        said = text(getattr(jostle, kind.replace("-", "_")))
        assert all(f"{setting}: " in said for setting, *_ in settings)
