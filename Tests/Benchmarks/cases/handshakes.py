"""Full TLS handshakes a second, beside nginx: `handshakes.py` measures them, by itself too."""

import dataclasses

from cases.case import Case
from compare import Result, Row, Spread, Verdict
from setting import Setting

try:
    import handshakes
except ModuleNotFoundError:
    handshakes = None

OURS = "subproxy https listener"
WAYS = [OURS, "subproxy in CONNECT"]


@dataclasses.dataclass
class Handshakes(Case):
    """Each way's rounds as rows."""

    def seconds(self, setting: Setting) -> float:
        return 4 * (setting.rounds * (setting.seconds + 0.2) + 0.5) + 4

    def run(self, setting: Setting) -> Result:
        rounds = handshakes.measure(setting.binary, rounds=setting.rounds, seconds=setting.seconds)["rounds"]
        result = Result(self.name, self.title, "one full handshake after the other on two threads")
        ours = rounds[OURS]
        for name, values in rounds.items():
            row = Row(name, "handshake", Spread.of(values["rate"]).median, Spread.of(values["cpu_us"]).median)
            if name != OURS:
                row.rate_ratio = Spread.of([a / b for a, b in zip(ours["rate"], values["rate"])])
                row.cpu_ratio = Spread.of([b / a for a, b in zip(ours["cpu_us"], values["cpu_us"])])
            result.rows.append(row)
        for way in WAYS:
            ratio = Spread.of([a / b for a, b in zip(rounds[way]["rate"], rounds["nginx"]["rate"])])
            result.verdicts.append(Verdict(f"{way} ≥ 0.8 × nginx", str(ratio), ratio.median >= 0.8))
        return result


CASES = [Handshakes("handshakes", "Full handshakes, TLS 1.3, ECDSA P-256")] if handshakes else []
