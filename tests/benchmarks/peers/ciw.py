"""Ciw: one node with one server and no room to wait, and a class of customers for each owner."""

from functools import partial

import ciw

from .work import N_OWNERS, RATE, SERVICE, UNTIL, Served, Work, told


def network():
    """Return its description of the network."""
    names = [f"owner {number}" for number in range(1, N_OWNERS + 1)]
    return ciw.create_network(
        arrival_distributions={each: [ciw.dists.Exponential(RATE)] for each in names},
        service_distributions={each: [ciw.dists.Exponential(1 / SERVICE)] for each in names},
        number_of_servers=[1],
        queue_capacities=[0],
    )


def prepared() -> Work:
    """Return a run of the network."""
    ciw.seed(2)
    simulation = ciw.Simulation(network())

    def work() -> partial[Served]:
        simulation.simulate_until_max_time(UNTIL)
        return partial(Served, len(simulation.get_all_records(only=["service"])))

    return work


if __name__ == "__main__":
    told(prepared)
