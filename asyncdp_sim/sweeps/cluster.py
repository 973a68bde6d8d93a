"""Workers of a Dask cluster, started by ``dask scheduler`` and ``dask worker``."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from threadpoolctl import threadpool_limits

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.provenance import versions
from asyncdp_sim.runs.workers import Carrying

P = ParamSpec("P")
T = TypeVar("T")
PATIENCE = 10.0
"""Seconds to wait for the scheduler, and for its first worker."""


@contextmanager
def connected(address: str) -> Iterator[tuple[Executor, int]]:
    """Give an executor on a cluster, and how many pieces of work it does at a time.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``tcp://10.0.0.1:8786``.

    Raises
    ------
    SpecError
        If Dask is not installed, the scheduler or its workers are not there, or these have other
        versions of what decides a result's bits.
    """
    try:
        from distributed import Client
    except ImportError:
        raise _refused(address, "pip install 'asyncdp_sim[cluster]' first") from None
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        said = " ".join(str(error).split())
        raise _refused(address, f"a scheduler that answers ({said})") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise _refused(address, "a scheduler with at least one worker") from None
        try:
            found = client.run(versions)
        except Exception:  # whatever a worker raises that cannot load the package
            raise _refused(address, "workers that have asyncdp_sim installed") from None
        _require_same(address, found)
        yield Carrying(_OnWorkers(client.get_executor(pure=False))), sum(client.nthreads().values())


class _OnWorkers(Executor):
    """An executor whose workers compute with one BLAS thread, as local ones do."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Send work to a worker; if that is lost, another does it."""
        return self._pool.submit(_with_one_thread, fn, *args, **kwargs)


def _with_one_thread(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    threadpool_limits(1, "blas")  # for good: a worker may have several threads of its own
    return fn(*args, **kwargs)


def _require_same(address: str, found: dict[str, dict[str, str]]) -> None:
    ours = versions()
    for theirs in found.values():
        differ = [f"{name} {theirs.get(name)}" for name in ours if theirs.get(name) != ours[name]]
        if len(differ) > 0:
            wanted = ", ".join(f"{name} {version}" for name, version in ours.items())
            raise _refused(address, f"workers with {wanted}; one has {', '.join(differ)}")


def _refused(address: str, allowed: str) -> SpecError:
    return SpecError([Fault("--cluster", repr(address), f"allowed is {allowed}")])
