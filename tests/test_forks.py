"""A fit in a forked process, after one in its parent: it must not wait for threads that only the parent has."""

import subprocess
import sys

import pytest

FORKED = """
import multiprocessing, os, sys
import torch
torch.set_num_threads(2)
import compsparse

def product(n):
    return float((torch.ones(n, n) @ torch.ones(n, n)).sum()), torch.get_num_threads()

def answer(give):
    give.send(product(600))

if __name__ == "__main__":
    assert product(600) == (600.0**3, 2)
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=answer, args=(there,), daemon=True)
    child.start()
    print(here.recv() if here.poll(60) else "it hangs", product(600)[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="where processes are forked")
def test_a_forked_process_computes_after_its_parent_did():
    ended = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=False, timeout=180)
    assert ended.stdout == "(216000000.0, 1) 2\n", ended.stderr
