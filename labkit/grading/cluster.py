"""The workers of a Dask cluster."""

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from .pool import Job


@contextmanager
def workers_at(address: str, job: Job) -> Iterator[tuple[Executor, int]]:
    """What runs things on a cluster's workers, and how many at a time; each must have this very labkit."""
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(
            "dask: the package distributed must be there; it isn't. Run pip install distributed."
        ) from None
    try:
        client = Client(address, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise ValueError(f"dask: a scheduler must answer at {address}; got {error}. Start `dask scheduler`.") from None
    with client:
        fingerprints = client.run(Job.fingerprint, job)
        if not fingerprints:
            raise ValueError(f"dask: {address} must have workers; it has none. Start `dask worker {address}`.")
        if others := [worker for worker, theirs in fingerprints.items() if theirs != job.fingerprint()]:
            raise ValueError(
                f"dask: every worker must have this very labkit; {others[0]} has another. Install it there."
            )
        yield client.get_executor(), sum(client.nthreads().values())
