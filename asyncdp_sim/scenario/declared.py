"""The fields of a scenario."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from asyncdp_sim.data import DataSpec
from asyncdp_sim.learning.acceptance import Acceptance
from asyncdp_sim.learning.adversary import Adversary
from asyncdp_sim.learning.algorithms import AnyAlgorithm
from asyncdp_sim.learning.live import Trigger
from asyncdp_sim.learning.objectives import Model
from asyncdp_sim.measures.energy import Energy
from asyncdp_sim.network.availability import Always, Availability
from asyncdp_sim.network.channels import Channel, Ideal
from asyncdp_sim.network.clocks import Clock, PoissonClock
from asyncdp_sim.network.latency import Latency, Laws, Payload
from asyncdp_sim.network.laws import NoTime
from asyncdp_sim.network.protocols import Protocol, Request
from asyncdp_sim.network.topology import Topology
from asyncdp_sim.privacy import Privacy
from asyncdp_sim.scenario.owners import Owners
from asyncdp_sim.scenario.parts import Run, canonical, identifier
from asyncdp_sim.spec.base import CachedSpec, about


class DeclaredFields(CachedSpec):
    """The fields of a scenario, one by one."""

    schema_version: Annotated[
        Literal[1], Field(alias="schema"), about("Version of the format of scenario files", "none")
    ] = 1
    id: Annotated[
        str,
        AfterValidator(identifier),
        about(
            "Name of the scenario and of its results' directories",
            domain="lower-case words joined by hyphens",
            example="three-banks",
        ),
    ]
    title: Annotated[
        str, about("Title of the scenario, shown in lists and reports", example="Three banks")
    ] = ""
    description: Annotated[str, about("Purpose of the scenario", example="Does joining pay?")] = ""
    source: Annotated[
        str | None,
        about(
            "Source of the records, for captions. Absent: derived from the data, as synthetic, "
            "synthetic twin of lending, or a table's file name. A scenario that reads a file is "
            "never called synthetic",
            example="Async, figure 3",
        ),
    ] = None
    chosen_from: Annotated[
        Literal["public rows", "private rows"] | None,
        about(
            "Rows from which the settings were chosen. If they were private, no ε holds: the "
            "settings reveal records, and no ε accounts for it. Absent: from no rows",
            example="public rows",
        ),
    ] = None
    run: Annotated[Run, about("Length and number of the simulated runs")]
    owners: Annotated[Owners, about("Owners that take part")]
    data: Annotated[DataSpec, about("Owners' records and their source")]
    model: Annotated[Model, about("Model that is learned")]
    clock: Annotated[Clock, about("Times at which owners act")] = PoissonClock()
    availability: Annotated[Availability, about("Times at which owners are online")] = Always()
    channel: Annotated[Channel, about("Channel that carries answers to the learner")] = Ideal()
    latency: Annotated[
        Latency,
        about("Latency of messages", example={"answer": {"kind": "constant", "value": 0.01}}),
    ] = Latency()
    payload: Annotated[Payload, about("Size of messages", example={"header_bytes": 0})] = Payload()
    topology: Annotated[
        Topology | None,
        about(
            "Links over which messages travel. Absent: none; the laws of latency then describe "
            "all delays",
            example={"kind": "star", "latency": 0.1},
        ),
    ] = None
    compute: Annotated[
        Laws,
        about(
            "Time that an owner takes to compute one gradient",
            example={"kind": "exponential", "mean": 0.05},
        ),
    ] = NoTime()
    protocol: Annotated[
        Protocol, about("Protocol: who starts an exchange, and what happens during it")
    ] = Request()
    algorithm: Annotated[AnyAlgorithm, about("Algorithm that turns answers into updates")]
    adversary: Annotated[
        Adversary | None,
        about("Owners that lie. Absent: none", example={"kind": "flip", "owners": [3]}),
    ] = None
    acceptance: Annotated[
        Acceptance | None,
        about(
            "Treatment of answers that are too long. Absent: the learner accepts all",
            example={"kind": "clip", "bound": 1.0},
        ),
    ] = None
    trigger: Annotated[
        Trigger | None,
        about(
            "Condition under which owners answer. Absent: they always do. Requires run.learning = "
            '"live"',
            example={"kind": "large-gradient", "threshold": 0.5},
        ),
    ] = None
    privacy: Annotated[
        Privacy,
        about(
            "Privacy of the answers: budgets and noise",
            example={"epsilon": 1.0, "sensitivity": {"kind": "clip", "bound": 1.0}},
        ),
    ]
    energy: Annotated[
        Energy | None,
        about(
            "Power of owners in each state, and energy per byte. Absent: no energy is reported",
            example={
                "idle": 0.1,
                "listening": 0.4,
                "computing": 5.0,
                "sending": 1.2,
                "receiving": 0.8,
            },
        ),
    ] = None
    sweep: Annotated[
        dict[str, list[Any]],
        AfterValidator(canonical),
        about(
            "Lists of values for dotted paths; every combination is a cell. variant takes tables "
            "of paths that vary together, each with a name",
            domain="a table of lists",
            example={"privacy.epsilon": [0.1, 1.0, 10.0]},
        ),
    ] = Field(default_factory=dict)
