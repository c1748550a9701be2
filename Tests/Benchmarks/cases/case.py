"""What a case is: a name to choose it by, what it measures, and how long that takes."""

import contextlib
import dataclasses
from collections.abc import Callable

from compare import Contender, Figure, Goal, Result, Verdict, compare
from load import Load
from machine import Unusable
from setting import Setting


@dataclasses.dataclass
class Case:
    """One entry of the table. `measure` gets what it starts ended by the stack."""

    name: str
    title: str

    def seconds(self, setting: Setting) -> float:
        """About how long it takes."""
        raise NotImplementedError

    def run(self, setting: Setting) -> Result:
        raise NotImplementedError


@dataclasses.dataclass
class Comparison(Case):
    """Ours beside peers under one load."""

    load: Callable[[Setting], Load]
    contenders: Callable[[Setting, contextlib.ExitStack], tuple[Contender, list[Contender]]]
    goals: list[Goal] = dataclasses.field(default_factory=list)
    # How many peers there are, for the plan.
    peers: int = 1
    # What the servers' start has shown beside; called after the rows are there.
    figures: Callable[[Result], list[Figure]] = lambda result: []
    # The cores of the load, where they are not the usual ones.
    cores: Callable[[Setting], list[int] | None] = lambda setting: setting.load_cores
    extra_seconds: float = 2

    def seconds(self, setting: Setting) -> float:
        pair = 2 * setting.rounds * (setting.seconds + 0.2) + setting.warm_seconds + 1.5
        return (1 if setting.beside else self.peers) * pair + setting.warm_seconds + self.extra_seconds

    def run(self, setting: Setting) -> Result:
        load = self.load(setting)
        result = Result(self.name, self.title, load.words)
        try:
            with contextlib.ExitStack() as stack:
                ours, peers = self.contenders(setting, stack)
                if setting.beside:
                    other, _ = self.contenders(dataclasses.replace(setting, binary=setting.beside), stack)
                    peers = [dataclasses.replace(other, name="the other build")]
                compare(setting, ours, peers, load, result, self.cores(setting))
        except Unusable as error:
            result.failures.append(str(error))
        if result.rows:
            result.verdicts = [verdict for goal in self.goals if (verdict := goal.judge(result.rows))]
            # Figures compare with the peers.
            result.figures = [] if setting.beside else self.figures(result)
            result.verdicts += verdicts(result.figures)
        return result


def verdicts(figures: list[Figure]) -> list[Verdict]:
    return [
        Verdict(f"{figure.what} ≤ {figure.goal:g} {figure.unit}", f"{figure.value:.3g} {figure.unit}",
                figure.value <= figure.goal)
        for figure in figures if figure.goal is not None
    ]
