"""Grading on a Dask cluster: a real scheduler and real workers, on this machine."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from .made_class import make_class
from .test_batch import command, descendants, run, soon, what_people_read


class Cluster:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, folder):
        self.folder, self.address = folder, ""
        self.file = folder / "scheduler.json"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
        self.start = lambda *words: subprocess.Popen([sys.executable, "-m", "dask", *words], **quiet)
        self.scheduler = self.start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(self.file)
        )
        self.workers = [self.worker() for _ in range(2)]
        if not soon(self.file.exists, 60):
            self.close()
            pytest.fail("no scheduler has started")
        self.address = json.loads(self.file.read_text())["address"]

    def worker(self):
        once = ("--nthreads", "1", "--no-dashboard", "--no-nanny", "--host", "127.0.0.1")
        return self.start("worker", "--scheduler-file", str(self.file), *once)

    def close(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path_factory):
    one = Cluster(tmp_path_factory.mktemp("cluster"))
    yield one
    one.close()


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret"
    path.write_text("of the course")
    return path


def test_a_worker_killed_in_mid_run_loses_and_doubles_nothing(cluster, secret, tmp_path):
    folder = tmp_path / "in"
    make_class(folder, 200)
    run(folder, tmp_path / "here", secret)
    process = subprocess.Popen(
        command(folder, tmp_path / "there", secret, "--dask", cluster.address, "--json"),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert soon(lambda: descendants(cluster.workers[0].pid), 60)  # they have begun
    time.sleep(0.5)
    os.kill(cluster.workers[0].pid, signal.SIGKILL)
    said = json.loads(process.communicate(timeout=300)[0])
    assert process.returncode == 0
    assert said["graded_now"] == said["submissions"] == 200
    assert what_people_read(tmp_path / "there") == what_people_read(tmp_path / "here")


def test_no_scheduler_and_no_worker_are_said_in_a_line(secret, tmp_path, cluster):
    make_class(tmp_path / "in", 1)
    for worker in cluster.workers:
        worker.kill()
        worker.wait()
    for address in ("tcp://127.0.0.1:9", cluster.address, "nonsense"):
        done = subprocess.run(
            command(tmp_path / "in", tmp_path / "out", secret, "--dask", address), capture_output=True, text=True
        )
        assert done.returncode == 2, done.stdout
        assert done.stderr.startswith("dask: ") and "Traceback" not in done.stderr, done.stderr
