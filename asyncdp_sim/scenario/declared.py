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
            "Name of the scenario, and of its results' directories",
            domain="lower-case words joined by hyphens",
            example="three-banks",
        ),
    ]
    title: Annotated[str, about("Heading, for people", example="Three banks")] = ""
    description: Annotated[str, about("What the scenario is for", example="Does joining pay?")] = ""
    source: Annotated[
        str | None,
        about(
            "Where it comes from, for captions. Absent: where the records do, synthetic, "
            "synthetic twin of lending or a table by its file's name. A scenario that reads a "
            "file is not synthetic, whatever it says",
            example="Async, figure 3",
        ),
    ] = None
    chosen_from: Annotated[
        Literal["public rows", "private rows"] | None,
        about(
            "What the settings were chosen from. From private rows no ε holds: the settings "
            "themselves reveal records, and nothing is charged for it. Absent: from neither",
            example="public rows",
        ),
    ] = None
    run: Annotated[Run, about("How much is simulated")]
    owners: Annotated[Owners, about("Who takes part")]
    data: Annotated[DataSpec, about("Whose records they are, and where they come from")]
    model: Annotated[Model, about("What is learned")]
    clock: Annotated[Clock, about("When owners act")] = PoissonClock()
    availability: Annotated[Availability, about("When owners are online")] = Always()
    channel: Annotated[Channel, about("How answers get to the learner")] = Ideal()
    latency: Annotated[
        Latency,
        about("How long messages travel", example={"answer": {"kind": "constant", "value": 0.01}}),
    ] = Latency()
    payload: Annotated[Payload, about("How large messages are", example={"header_bytes": 0})] = (
        Payload()
    )
    topology: Annotated[
        Topology | None,
        about(
            "Which links messages travel over; absent: none, so that laws of latency say all",
            example={"kind": "star", "latency": 0.1},
        ),
    ] = None
    compute: Annotated[
        Laws,
        about(
            "Time that an owner takes for one gradient",
            example={"kind": "exponential", "mean": 0.05},
        ),
    ] = NoTime()
    protocol: Annotated[Protocol, about("Who asks whom, and what happens meanwhile")] = Request()
    algorithm: Annotated[AnyAlgorithm, about("What becomes of an answer")]
    adversary: Annotated[
        Adversary | None,
        about("Owners that lie; absent: none", example={"kind": "flip", "owners": [3]}),
    ] = None
    acceptance: Annotated[
        Acceptance | None,
        about(
            "What the learner does with answers that are too long; absent: it takes all",
            example={"kind": "clip", "bound": 1.0},
        ),
    ] = None
    trigger: Annotated[
        Trigger | None,
        about(
            'When owners answer; absent: always. It needs run.learning = "live"',
            example={"kind": "large-gradient", "threshold": 0.5},
        ),
    ] = None
    privacy: Annotated[
        Privacy,
        about(
            "What answers hide, and what they cost",
            example={"epsilon": 1.0, "sensitivity": {"kind": "clip", "bound": 1.0}},
        ),
    ]
    energy: Annotated[
        Energy | None,
        about(
            "Watts of owners by state, and joules per byte; absent: no energy is reported",
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
            "Lists of values for dotted paths: every combination is a cell. variant takes tables "
            "of paths that go together, each with a name",
            domain="a table of lists",
            example={"privacy.epsilon": [0.1, 1.0, 10.0]},
        ),
    ] = Field(default_factory=dict)
