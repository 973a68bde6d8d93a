"""Workers of a Dask cluster, with the versions of what decides a result's bits."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager
from functools import partial
from typing import ParamSpec, TypeVar

from asyncdp_sim.core.errors import Fault, MachineError, SpecError
from asyncdp_sim.core.files import unreadable
from asyncdp_sim.core.starting import one_thread
from asyncdp_sim.results.manifest import sources, versions
from asyncdp_sim.runs.replicates import Carrying, Workers

P = ParamSpec("P")
T = TypeVar("T")
PATIENCE = 10.0
"""Seconds to wait for the scheduler, and for its first worker."""


@contextmanager
def connected(address: str) -> Iterator[Workers]:
    """Give the workers of a cluster.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``tcp://10.0.0.1:8786``.

    Raises
    ------
    SpecError
        If Dask is not installed, the scheduler or its workers are not there, or these have other
        versions of what decides a result's bits, be it that they join later.
    MachineError
        If the scheduler goes away, or workers are killed again and again.
    """
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
        from distributed.utils import silence_logging_cmgr
    except ImportError:
        raise _refused(address, "pip install 'asyncdp_sim[cluster]' first") from None
    try:
        get_address_host_port(address)  # a client that cannot be made prints a traceback at its end
    except ValueError:
        raise _refused(address, "a host and a port, such as tcp://10.0.0.1:8786") from None
    _require_certificates(address)
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        text = " ".join(str(error).split())
        raise _refused(address, f"a scheduler that answers ({text})") from None
    with silence_logging_cmgr("critical"), client:  # a lost scheduler is ours to report, in a line
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise _refused(address, "a scheduler with at least one worker") from None
        try:
            result = client.run(made_with)
        except Exception:  # whatever a worker raises that cannot load the package
            raise _refused(address, "workers that have asyncdp_sim installed") from None
        for worker in result.values():
            _require_same(address, worker)
        pool = Carrying(_OnWorkers(address, client.get_executor(pure=False)))
        with _scheduler_there(address):
            yield Workers(sum(client.nthreads().values()), pool)


def _require_certificates(address: str) -> None:
    """Refuse what settings of TLS do not fit: Dask half opens it, and raises anything."""
    from distributed import Security

    try:
        value = Security().get_connection_args("client")
    except OSError as error:
        raise _refused(address, f"certificates that can be read ({unreadable(error)})") from None
    encrypted = address.startswith(("tls:", "wss:"))
    if encrypted and value["ssl_context"] is None:
        raise _refused(address, "tls:// where certificates are set")
    if value["require_encryption"] and not encrypted:
        raise _refused(address, "tls://…, as encryption is required by Dask's settings")


@contextmanager
def _scheduler_there(address: str) -> Iterator[None]:
    """Say in one line that the scheduler went away, and that the same command continues."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except (CancelledError, CommClosedError):
        raise MachineError(f"the scheduler {address} is gone") from None
    except KilledWorker as error:
        text = " ".join(str(error).split())
        raise MachineError(f"workers of {address} were killed ({text})") from None


def made_with() -> dict[str, str]:
    """Return the versions that decide a result's bits, the package's own modules among them."""
    return {**versions(), "sources": sources()}


class _OnWorkers(Executor):
    """An executor whose workers compute with one BLAS thread, as local ones do.

    Each piece of work asks its worker for its versions, as workers may join at any time.
    """

    def __init__(self, address: str, pool: Executor) -> None:
        self._address = address
        self._pool = pool

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Send work to a worker; if that is lost, another does it."""
        work = partial(_on_a_worker, self._address, made_with(), fn)
        return self._pool.submit(work, *args, **kwargs)


def _on_a_worker(
    address: str,
    wanted: Mapping[str, str],
    fn: Callable[P, T],
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    _require_same(address, made_with(), wanted)
    one_thread()  # for good: a worker may have several threads of its own
    return fn(*args, **kwargs)


def _require_same(
    address: str, theirs: Mapping[str, str], wanted: Mapping[str, str] | None = None
) -> None:
    ours = made_with() if wanted is None else wanted
    differ = [f"{name} {theirs.get(name)}" for name in ours if theirs.get(name) != ours[name]]
    if len(differ) > 0:
        text = ", ".join(f"{name} {version}" for name, version in ours.items())
        raise _refused(address, f"workers with {text}; one has {', '.join(differ)}")


def _refused(address: str, allowed: str) -> SpecError:
    return SpecError([Fault("--cluster", repr(address), f"allowed is {allowed}")])
