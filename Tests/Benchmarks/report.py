"""The table on a terminal, the same as JSON, and as a part of docs/performance.md."""

import dataclasses
import json

from compare import Figure, Result, Row, Spread, Verdict

BEGIN = "<!-- results: written by `make bench ARGS=\"--write-doc docs/performance.md\"` -->"
END = "<!-- end of results -->"

COLUMNS = ["", "a second", "ratio", "spread", "CPU µs", "by CPU", "p50 µs", "p99 µs", "peak MiB", "core"]


def number(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def spread(ratio: Spread | None) -> tuple[str, str]:
    return ("–", "–") if ratio is None else (f"{ratio.median:.2f}", f"{ratio.least:.2f}–{ratio.most:.2f}")


def cells(row: Row) -> list[str]:
    rate = f"{row.rate:,.0f}" + (" MiB" if row.unit == "MiB" else "")
    return [
        row.name, rate, *spread(row.rate_ratio), number(row.cpu_us, 1), spread(row.cpu_ratio)[0], number(row.p50_us),
        number(row.p99_us), number(None if row.peak_rss_kib is None else row.peak_rss_kib / 1024, 1),
        "–" if row.core is None else f"{row.core:.0%}"]


def figure_text(figure: Figure) -> str:
    between = "" if figure.least is None else f" ({figure.least:.3g}–{figure.most:.3g})"
    return f"{figure.value:.3g} {figure.unit}{between}"


def text(result: Result) -> str:
    lines = [f"{result.title}" + (f" ({result.load})" if result.load else "")]
    if result.rows:
        table = [COLUMNS, *(cells(row) for row in result.rows)]
        widths = [max(len(line[i]) for line in table) for i in range(len(COLUMNS))]
        for line in table:
            lines.append("  " + line[0].ljust(widths[0]) + "".join(
                "  " + cell.rjust(width) for cell, width in zip(line[1:], widths[1:])))
    lines += [f"  {figure.what}: {figure_text(figure)}" for figure in result.figures]
    lines += [f"  {'met ' if v.met else 'MISSED'} {v.goal}: {v.measured}" for v in result.verdicts]
    lines += [f"  NOT MEASURED {failure}" for failure in result.failures]
    return "\n".join(lines)


def write_json(path: str, about: dict, results: list[Result], order: list[str]) -> None:
    """Keeps the cases of the file that were not measured this time, so that a table can be made in several runs."""
    try:
        with open(path) as f:
            kept = json.load(f)
    except (OSError, ValueError):
        kept = {"about": about, "cases": {}}
    cases = kept["cases"] | {result.name: dataclasses.asdict(result) | {"about": about} for result in results}
    data = {
        "about": about if results else kept["about"],
        "cases": {name: cases[name] for name in order if name in cases},
    }
    with open(path, "w") as f:
        json.dump(data, f, indent=1, ensure_ascii=False)
        f.write("\n")


def read_json(path: str) -> tuple[dict, list[tuple[dict, Result]]]:
    """What `write_json` has written: the last run, and each case with the run that it is of."""
    with open(path) as f:
        data = json.load(f)
    return data["about"], [(case.pop("about"), as_result(case)) for case in data["cases"].values()]


def as_result(case: dict) -> Result:
    def as_row(row: dict) -> Row:
        ratios = {key: Spread(**row[key]) for key in ("rate_ratio", "cpu_ratio", "p99_ratio") if row[key]}
        return Row(**row | ratios)

    return Result(**case | {
        "rows": [as_row(row) for row in case["rows"]],
        "figures": [Figure(**figure) for figure in case["figures"]],
        "verdicts": [Verdict(**verdict) for verdict in case["verdicts"]],
    })


def other_run(run: dict, about: dict) -> str:
    """How the run of one case differs from the last one."""
    own = ["commit", "rounds", "seconds"]
    if {**run, **dict.fromkeys(own)} != {**about, **dict.fromkeys(own)}:
        return sentence(run)
    return f"Measured at commit {run['commit']}, {run['rounds']} rounds of {run['seconds']:g} s."


def markdown(about: dict, results: list[tuple[dict, Result]]) -> str:
    goals = ["| what | goal | measured | |", "|---|---|---|---|"]
    for _, result in results:
        lines = [f" | {v.goal} | {v.measured} | {'met' if v.met else '**missed**'} |" for v in result.verdicts]
        lines += [f" | | not measured: {failure} | |" for failure in result.failures]
        goals += [f"| {'' if i else result.title}{line}" for i, line in enumerate(lines)]
    parts = [sentence(about), "\n".join(goals)]
    for run, result in results:
        other = "" if run == about else f" {other_run(run, about)}"
        parts.append(f"**{result.title}**" + (f" ({result.load})." if result.load else ".") + other)
        if result.rows:
            table = [COLUMNS, ["---"] + ["--:"] * (len(COLUMNS) - 1), *(cells(row) for row in result.rows)]
            parts.append("\n".join("| " + " | ".join(line) + " |" for line in table))
        if result.figures:
            parts.append("\n".join(f"- {figure.what}: {figure_text(figure)}" for figure in result.figures))
    return "\n\n".join(parts)


def sentence(about: dict) -> str:
    machine, versions = about["machine"], about["versions"]
    return (f"Measured on {about['date']} at commit {about['commit']}: {machine['processor']}, "
            f"{machine['cores']} cores, {machine['memory']}, Linux {machine['kernel']}, {machine['system']}; {about['rounds']} rounds of "
            f"{about['seconds']:g} s; {about['cores']}. " + ", ".join(f"{k} {v}" for k, v in versions.items()) + ".")


def write_document(path: str, about: dict, results: list[tuple[dict, Result]]) -> None:
    """Puts the tables between the markers of the document."""
    with open(path, encoding="utf-8") as f:
        document = f.read()
    if document.count(BEGIN) != 1 or document.count(END) != 1:
        raise ValueError(f"{path} does not have the two markers: {BEGIN} and {END}")
    before, _, rest = document.partition(BEGIN)
    after = rest.partition(END)[2]
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"{before}{BEGIN}\n\n{markdown(about, results)}\n\n{END}{after}")
