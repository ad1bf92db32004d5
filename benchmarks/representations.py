"""Boolean representations: the Walsh transform beside pyfwht and boofun, circuits and machines exact, units a gate.

pyfwht runs on its CPU backend. boofun looks for pyfwht and falls back on its own code where that finds no GPU; it is
given a warm start. Both are optional: without them their figures are left out, and the text says so.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import torch
from _report import finish, median_seconds, print_table

from compsparse.construct import compile_circuit
from compsparse.representations.boolean import boolean_program, learn_heavy_terms, spectrum, walsh_transform
from compsparse.representations.boolean.bits import random_bits
from compsparse.representations.boolean.reading import all_rows
from compsparse.representations.machine import balance_machine, palindrome_machine, parity_machine, unroll
from compsparse.tasks import Task, comparator, majority_vote, multiplexer, parity_tree, ripple_adder

N_ROWS = 1_000_000


# ---- the Walsh transform -----------------------------------------------------------------------------


def in_place(transform: Callable[[np.ndarray], object], values: np.ndarray, repeats: int) -> float:
    work = values.copy()

    def step() -> None:
        work[:] = 1  # so that whole numbers do not grow without end
        transform(work)

    fill = median_seconds(lambda: work.fill(1), repeats)
    return max(median_seconds(step, repeats, warm_up=1) - fill, 1e-9)


def walsh() -> dict[str, float]:
    figures, rows = {}, []
    try:
        import pyfwht
    except ImportError:
        pyfwht = None
        print("pyfwht is not installed: its figures are left out")
    for n in (20, 24):
        for dtype in (np.int32, np.float64):
            values = np.ones(1 << n, dtype=dtype)
            ours = in_place(lambda a: walsh_transform(a, overwrite=True), values, repeats=9)
            row = [n, dtype.__name__, ours]
            if pyfwht is not None:
                theirs = in_place(lambda a: pyfwht.transform(a, backend=pyfwht.Backend.CPU), values, repeats=9)
                figures[f"walsh_over_pyfwht_{n}_{dtype.__name__}"] = ours / theirs
                row.append(theirs)
            rows.append(row)
    print_table(["inputs", "type", "ours (s)", "pyfwht (s)"][: len(rows[0])], rows)
    return figures | boofun() | memory()


def boofun() -> dict[str, float]:
    try:
        import boofun as bf
    except ImportError:
        print("boofun is not installed: its figure is left out")
        return {}
    rng = np.random.default_rng(0)
    bf.create(rng.integers(0, 2, 1 << 10).tolist()).fourier()  # compiles
    table = rng.integers(0, 2, 1 << 20)
    function = bf.create(table.tolist())
    started = time.perf_counter()
    theirs = np.asarray(function.fourier())
    seconds = time.perf_counter() - started
    ours = median_seconds(lambda: spectrum(table).coefficients, repeats=5, warm_up=1)
    same = np.allclose(np.sort(np.abs(theirs)), np.sort(np.abs(spectrum(table).coefficients)), atol=1e-9)
    print(f"n = 20, a random truth table: boofun {seconds:.3g} s, ours {ours:.3g} s, spectra agree: {same}")
    return {"boofun_over_ours_20": seconds / ours, "spectra_agree_with_boofun": float(same)}


def memory() -> dict[str, float]:
    """The most memory a transform holds, its argument included, over that of the table."""
    walsh_transform(np.ones(1 << 16))
    tracemalloc.start()
    values = np.ones(1 << 24)
    walsh_transform(values)
    copied = tracemalloc.get_traced_memory()[1] / values.nbytes
    tracemalloc.reset_peak()
    walsh_transform(values, overwrite=True)
    placed = tracemalloc.get_traced_memory()[1] / values.nbytes
    tracemalloc.stop()
    return {"memory_over_table": copied, "memory_over_table_in_place": placed}


# ---- circuits ----------------------------------------------------------------------------------------


def words(bits: np.ndarray) -> np.ndarray:
    """Up to 64 bits a row, lowest first, as numbers."""
    packed = np.packbits(np.pad(bits, ((0, 0), (0, 64 - bits.shape[1]))), axis=1, bitorder="little")
    return packed.view("<u8")[:, 0]


def truth_of(name: str, X: np.ndarray) -> np.ndarray:
    """The outputs by arithmetic on 64-bit words."""
    n = X.shape[1]
    if name in ("adder", "comparator"):
        a, b = words(X[:, : n // 2]), words(X[:, n // 2 :])
        if name == "comparator":
            return (a < b)[:, None]
        total = a + b  # modulo 2^64
        low = (total[:, None] >> np.arange(n // 2, dtype=np.uint64) & np.uint64(1)).astype(np.uint8)
        carry = total < a if n == 128 else total >> np.uint64(n // 2) & np.uint64(1)
        return np.column_stack([low, carry])
    if name == "multiplexer":
        k = next(k for k in range(1, 17) if k + 2**k == n)
        address = X[:, :k] @ (1 << np.arange(k)[::-1])
        return X[np.arange(len(X)), k + address][:, None]
    total = X.sum(1, dtype=np.int64)
    return (total % 2 if name == "parity" else 2 * total > n)[:, None]


LARGE = [ripple_adder(64), comparator(64), multiplexer(6), parity_tree(64), majority_vote(63)]
SMALL = [ripple_adder(5), comparator(5), multiplexer(3), parity_tree(10), majority_vote(9)]


def is_exact(task: Task, X: np.ndarray) -> bool:
    return np.array_equal(boolean_program(task.graph)(X), truth_of(task.name, X))


def network_is_exact(task: Task, X: np.ndarray) -> bool:
    network = compile_circuit(task.graph, torch.float32)
    return np.array_equal(network(torch.tensor(X, dtype=torch.float32)).numpy(), truth_of(task.name, X))


def circuits() -> dict[str, float]:
    rows, exact, networks = [], [], []
    for small, large in zip(SMALL, LARGE, strict=True):
        every, X = all_rows(small.graph.n_inputs), random_bits(N_ROWS, large.graph.n_inputs, np.random.default_rng(0))
        started = time.perf_counter()
        exact.append(is_exact(small, every) and is_exact(large, X))
        seconds = time.perf_counter() - started
        networks.append(network_is_exact(small, every) and network_is_exact(large, X[:20_000]))
        size = compile_circuit(large.graph).size
        gates = large.graph.size
        rows.append([large.name, large.graph.n_inputs, gates, size.units, size.units / gates, size.depth, seconds])
    print_table(["circuit", "inputs", "gates", "ReLUs", "ReLUs a gate", "depth", "s for 10^6 inputs"], rows)
    growth = [compile_circuit(ripple_adder(n).graph).size.units / ripple_adder(n).graph.size for n in (8, 64, 512)]
    return {
        "circuits_exact_on_a_million_of_5": sum(exact),
        "networks_exact_of_5": sum(networks),
        "relus_a_gate_adder_8": growth[0],
        "relus_a_gate_adder_512": growth[2],
        "most_relus_a_gate": max(row[4] for row in rows),
    }


# ---- machines ----------------------------------------------------------------------------------------


def strings(n_rows: int, n: int) -> np.ndarray:
    """A third palindromes, a third that miss by one bit, a third random."""
    rng = np.random.default_rng(1)
    X = random_bits(n_rows, n, rng).copy()
    X[: 2 * n_rows // 3, n - n // 2 :] = X[: 2 * n_rows // 3, : n // 2][:, ::-1]
    X[np.arange(n_rows // 3), rng.integers(0, n, n_rows // 3)] ^= 1
    return X


def machines() -> dict[str, float]:
    rows, agree = [], 0
    X = strings(10_000, 64)
    for name, machine in (("parity", parity_machine()), ("palindrome", palindrome_machine())):
        started = time.perf_counter()
        unrolled = unroll(machine, 64)
        seconds = time.perf_counter() - started
        expected = machine.run(X, unrolled.time_bound).accepts
        network = compile_circuit(unrolled.graph)
        values = network(torch.tensor(X, dtype=torch.float64)).numpy()[:, 0]
        agree += np.array_equal(unrolled(X), expected) and np.array_equal(values, expected)
        rows.append(
            [name, 64, unrolled.time_bound, unrolled.n_gates, unrolled.graph.max_arity, network.size.units, seconds]
        )
    for n in (8, 12, 16):
        started = time.perf_counter()
        unrolled = unroll(balance_machine(), n, (n + 1) ** 2)
        seconds = time.perf_counter() - started
        rows.append(["as many 0 as 1", n, unrolled.time_bound, unrolled.n_gates, unrolled.graph.max_arity, "", seconds])
    print_table(["machine", "bits", "steps", "gates", "arity", "ReLUs", "s to unroll"], rows)
    return {"machines_agree_of_2": agree, "most_arity": max(row[4] for row in rows), "palindrome_64_gates": rows[1][3]}


# ---- learning ----------------------------------------------------------------------------------------


def learning() -> dict[str, float]:
    members = [3, 17, 41, 60]
    started = time.perf_counter()
    learned = learn_heavy_terms(lambda x: x[:, members].sum(1) % 2, 64, 0.5, random_state=0)
    seconds = time.perf_counter() - started
    found = set(learned.polynomial.terms) == {tuple(members)}
    print(f"a parity of 4 among 64 inputs: {learned.n_values:,} queries, {seconds:.3g} s, found: {found}")
    return {"parity_of_64_queries": learned.n_values, "parity_of_64_found": float(found)}


def main() -> None:
    finish(
        circuits() | machines() | learning() | walsh(),
        {
            "walsh_over_pyfwht_24_int32": ("<=", 1.5),
            "walsh_over_pyfwht_24_float64": ("<=", 1.5),
            "boofun_over_ours_20": (">=", 20),
            "spectra_agree_with_boofun": (">=", 1),
            "memory_over_table": ("<=", 2.2),
            "circuits_exact_on_a_million_of_5": (">=", 5),
            "networks_exact_of_5": (">=", 5),
            "relus_a_gate_adder_512": ("<=", 1),
            "machines_agree_of_2": (">=", 2),
            "most_arity": ("<=", 3),
            "parity_of_64_found": (">=", 1),
        },
    )


if __name__ == "__main__":
    main()
