"""One language: a public name means one thing, does not hide a module, can be reached and says what it is."""

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections import defaultdict
from functools import cached_property
from pathlib import Path

import pytest

import compsparse
from compsparse.checks import OTHER_WORDS
from compsparse.errors import UnknownOptionError
from compsparse.sweeps import Spec

SOURCE = Path(compsparse.__file__).parent


def packages() -> list[str]:
    """All packages, the root first; the command line is no library."""
    found = [m.name for m in pkgutil.walk_packages(compsparse.__path__, "compsparse.") if m.ispkg]
    return ["compsparse", *(name for name in found if not name.startswith("compsparse.cli"))]


def exported(package: str) -> list[str]:
    return list(getattr(importlib.import_module(package), "__all__", ()))


@pytest.mark.parametrize("package", packages())
def test_no_exported_name_is_that_of_a_module(package):
    inside = {m.name for m in pkgutil.iter_modules(importlib.import_module(package).__path__)}
    hidden = inside & set(exported(package))
    if package == "compsparse":  # the root exports its packages as such
        hidden = {name for name in hidden if not inspect.ismodule(getattr(compsparse, name))}
    assert not hidden


def definitions() -> dict[str, list[str]]:
    """Public classes, functions and constants of modules, with the modules that define them."""
    found = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE)
        if module.parts[0] == "cli":
            continue
        for name in {n for node in ast.parse(path.read_text()).body for n in _names(node)}:
            if not name.startswith("_"):
                found[name].append(str(module))
    return found


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    parts = [part for t in targets for part in (t.elts if isinstance(t, ast.Tuple) else [t])]
    return [part.id for part in parts if isinstance(part, ast.Name)]


def test_no_public_name_means_two_things():
    assert not {name: where for name, where in definitions().items() if len(where) > 1}


@pytest.mark.parametrize("package", packages())
def test_exported_names_resolve_and_say_what_they_are(package):
    module = importlib.import_module(package)
    missing = [name for name in exported(package) if not hasattr(module, name)]
    assert not missing
    silent = [place for name in exported(package) for place in without_docstring(name, getattr(module, name))]
    assert not silent


def without_docstring(name: str, value: object) -> list[str]:
    """The name itself or those of its public methods that have no docstring; constants and aliases need none."""
    if inspect.isclass(value) and value.__module__.startswith("compsparse"):
        own = [] if _described(value) else [name]
        return own + [f"{name}.{m}" for m, method in _methods(value) if not (inspect.getdoc(method) or "").strip()]
    if inspect.isfunction(value):
        return [] if (value.__doc__ or "").strip() else [name]
    return []


def _described(cls: type) -> bool:
    text = (cls.__doc__ or "").strip()
    generated = dataclasses.is_dataclass(cls) and text.startswith(f"{cls.__name__}(")
    return bool(text) and not generated


def _methods(cls: type) -> list[tuple[str, object]]:
    """Public methods and properties that the class or its bases in compsparse define."""
    found = {}
    for base in reversed(cls.__mro__):
        if not base.__module__.startswith("compsparse"):
            continue
        for name, member in vars(base).items():
            method = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            is_method = inspect.isfunction(method) or isinstance(method, property | cached_property)
            if is_method and not name.startswith("_"):
                found[name] = method.func if isinstance(method, cached_property) else method
    return list(found.items())


def test_every_package_is_reached_from_the_root():
    found = {name.split(".")[1] for name in packages() if name.count(".") == 1}
    unreachable = [name for name in sorted(found) if not inspect.ismodule(getattr(compsparse, name, None))]
    assert not unreachable
    assert found <= set(compsparse.__all__)


ONLY_HINTS = {"alpha", "columns", "domain", "hidden", "max_iter", "n_iter", "target", "timeout", "tolerance", "verbose"}
"""Words that other libraries have for parameters of ours, and that mean something else here."""
OTHER_MEANINGS = {
    "select(replicas)",  # which of them, not how many
    "TrainingState(replicas)",  # likewise
    "Adaptive(seed)",  # the name of a field of the runs
}


@pytest.mark.parametrize("package", packages())
def test_parameters_speak_one_language(package):
    module = importlib.import_module(package)
    found = [
        f"{name}({parameter})"
        for name in exported(package)
        for parameter in _parameters(getattr(module, name))
        if parameter in OTHER_WORDS.keys() - ONLY_HINTS
    ]
    assert set(found) <= OTHER_MEANINGS


def _parameters(value: object) -> list[str]:
    callables = [value] if inspect.isfunction(value) else []
    if inspect.isclass(value) and value.__module__.startswith("compsparse"):
        callables = [method for _, method in _methods(value) if inspect.isfunction(method)]
        if not issubclass(value, Spec):  # the fields of a run are data, and part of its key
            callables.append(value.__init__)
    return [name for function in callables for name in inspect.signature(function).parameters]


@pytest.mark.parametrize("package", packages())
def test_random_state_and_time_limit_have_one_default(package):
    """None: numbers that differ each time, and as long as it takes."""
    found = [(name, getattr(importlib.import_module(package), name)) for name in exported(package)]
    if package != "compsparse.estimators":
        found = [(name, value) for name, value in found if inspect.isfunction(value)]
    for name, value in found:
        defaults = {p.name: p.default for p in inspect.signature(value).parameters.values()}
        for option in ("random_state", "time_limit"):
            assert defaults.get(option) in {None, inspect.Parameter.empty}, (name, option)


HOLDS_MUCH = re.compile(r"ndarray|NDArray|Tensor|Network|\bMapping|\bdict\b|ExplicitReLU|tuple\[[A-Z]")
SHORT_ALL_THE_SAME = {"Constituent", "Law", "Leases", "MirrorConfig"}
"""A formula, exponents by name and settings: what they hold is what there is to see."""


@pytest.mark.parametrize("package", packages())
def test_records_that_hold_much_show_themselves_in_a_line(package):
    for name in exported(package):
        record = getattr(importlib.import_module(package), name)
        if not dataclasses.is_dataclass(record):
            continue
        much = [f.name for f in dataclasses.fields(record) if f.repr and HOLDS_MUCH.search(str(f.type))]
        by_dataclass = hasattr(record.__repr__, "__wrapped__")
        assert not (much and by_dataclass) or name in SHORT_ALL_THE_SAME, (name, much)


def takes_options() -> list[tuple[str, object]]:
    """The verbs and the estimators: what a user of the package calls with keywords."""
    root = [(name, getattr(compsparse, name)) for name in compsparse._HOME]
    more = [compsparse.models.fit_model, compsparse.bounds.compare, compsparse.training.regrow]
    learners = [(name, getattr(compsparse.estimators, name)) for name in compsparse.estimators.__all__]
    functions = [(name, value) for name, value in root if inspect.isfunction(value)]
    return [*functions, *((f.__name__, f) for f in more), *learners]


@pytest.mark.parametrize(("name", "called"), takes_options())
def test_an_unknown_keyword_is_refused_with_the_near_one(name, called):
    known = inspect.signature(called).parameters
    given = [object()] * sum(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD for p in known.values())
    with pytest.raises(UnknownOptionError, match=r"has no option 'sede'(; did you mean '\w+'\?|; known: \w+)"):
        called(*(given if inspect.isfunction(called) else []), sede=1)
    if "random_state" in known:
        with pytest.raises(TypeError, match=f"{called.__name__} has no option 'seed'; did you mean 'random_state'"):
            called(*(given if inspect.isfunction(called) else []), seed=1)
