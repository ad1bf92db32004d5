"""From function graphs to explicit sparse ReLU networks with a certified error."""

from compsparse.construct.compiling import CompileMethod, check_domain, compile, path_factors
from compsparse.construct.opaque import DeclaredBounds
from compsparse.construct.record import Compiled, CompiledNode
from compsparse.construct.search import LargestError, largest_error

__all__ = [
    "CompileMethod",
    "Compiled",
    "CompiledNode",
    "DeclaredBounds",
    "LargestError",
    "check_domain",
    "compile",
    "largest_error",
    "path_factors",
]
