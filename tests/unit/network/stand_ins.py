"""Stand-ins for the learner and its owners, that note who comes and goes."""

from types import SimpleNamespace

from asyncdp_sim.core.kernel import Kernel

UNIT = 10**9


class Notes:
    """Stands for the learner and the recorder: notes who came, went and left, and when."""

    def __init__(self, n_owners):
        self.kernel = Kernel()
        self.told = []
        self.owners = [self._owner(number) for number in range(1, n_owners + 1)]

    def _owner(self, number):
        return SimpleNamespace(
            number=number,
            distance=-1,
            set_online=lambda online, learner: learner.note("on" if online else "off", number),
        )

    def note(self, what, owner):
        self.told.append((self.kernel.now / UNIT, owner, what))

    def leave(self, owner):
        self.note("leaves", owner)

    def give_up(self, owner):
        self.note("gives up", owner)

    def distances(self):
        return [owner.distance / UNIT for owner in self.owners]
