"""How Octant's own time and memory grow: T at constant tokens, layers, micro-batches, ranks.

Time is set against FLOPs: a column gives the time per FLOP and used core over the table's median. Memory is
set against the formula: the state's bytes are known exactly (docs/performance.md), and what is left of the
ledger's peak must follow a straight line through the first and the last point of the table.
"""

import os
import statistics
from dataclasses import dataclass

from programs import Program, ProgramFailed

MIB = 1 << 20
STATE = ("parameters", "gradients", "master_weights", "optimizer")


@dataclass(frozen=True)
class Table:
    name: str
    title: str
    points: tuple  # (value, options of bench_step)
    straight: str  # what the memory that is not state is linear in: "value", or "" for constant


def tables(quick, steps):
    gpt2 = {
        "layers": 12,
        "hidden": 768,
        "heads": 12,
        "vocab": 50257,
        "sequence": 256,
        "micro": 4,
        "steps": steps,
    }
    tiny = {
        "layers": 4,
        "hidden": 256,
        "heads": 4,
        "vocab": 1024,
        "sequence": 128,
        "micro": 8,
        "steps": steps,
    }
    tokens, lengths = 4096, (128, 256, 512, 1024, 2048, 4096)
    layers, batches, ranks = (2, 4, 8, 12, 16, 24), (1, 2, 4, 8, 16, 32), (1, 2, 4, 8, 16)
    if quick:
        gpt2 = tiny = dict(tiny, layers=2, hidden=192, heads=6, vocab=1001, sequence=64, micro=2)
        tokens, lengths, layers, batches, ranks = 512, (64, 128, 256), (1, 2, 4), (1, 2, 4), (1, 2, 4)
    half = gpt2["layers"] // 2
    return [
        Table(
            "sequence",
            f"T at {tokens} tokens a step, one rank",
            tuple((t, dict(gpt2, sequence=t, micro=tokens // t)) for t in lengths),
            "",
        ),
        Table("layers", "layers, one rank", tuple((n, dict(gpt2, layers=n)) for n in layers), "value"),
        Table(
            "micro-batches",
            f"micro-batches of two sequences a step, one rank, {half} layers",
            tuple((n, dict(gpt2, layers=half, micro=2, accumulation=n)) for n in batches),
            "",
        ),
        Table(
            "ranks",
            "data ranks of a tiny model, ZeRO 1, each with the same work",
            tuple((n, dict(tiny, data=n, stage=1)) for n in ranks),
            "",
        ),
    ]


def state_bytes(sample):
    """Parameters, gradients and AdamW's moments of a rank in f32: 8 bytes a parameter, and 8 that stage 1
    cuts by the data size."""
    data = sample["layout"]["data"]
    return sample["model"]["parameters"] * (8 + 8 / data)


def measure(table, runner, rounds, say):
    """The points in turns, `rounds` times; one entry a point, in the table's order."""
    samples = {value: [] for value, _ in table.points}
    failures = {}
    for turn in range(rounds):
        for value, options in table.points:
            if value in failures:
                continue
            say(f"round {turn + 1} of {rounds}: {table.name} {value}")
            try:
                samples[value].append(runner.sample(Program(f"{table.name} {value}", "step", options)))
            except ProgramFailed as error:
                failures[value] = str(error)
    cores = len(os.sched_getaffinity(0))
    points = [point_of(value, samples[value], cores) for value, _ in table.points if samples[value]]
    add_predictions(table, points)
    return {
        "name": table.name,
        "title": table.title,
        "points": points,
        "samples": samples,
        "failures": failures,
    }


def point_of(value, samples, cores):
    seconds = statistics.median(second for sample in samples for second in sample["step_seconds"])
    first = samples[0]
    used = min(cores, first["layout"]["ranks"] * first["layout"]["threads"])
    state = state_bytes(first)
    return {
        "value": value,
        "seconds": seconds,
        "flops": first["flops_per_step"],
        "cores": used,
        "flops_per_core": first["flops_per_step"] / seconds / used,
        "share": first["flops_per_step"] / seconds / statistics.median(s["matmul_rate"] for s in samples),
        "wait_seconds": statistics.median(s["wait_seconds_per_step"] for s in samples),
        "ledger_bytes": max(s["ledger_peak_bytes"] for s in samples),
        "state_bytes": state,
        "ledger_state_bytes": sum(first["ledger_peaks"][kind] for kind in STATE),
        "resident_bytes": max(s["resident_per_rank"] for s in samples),
    }


def add_predictions(table, points):
    if not points:
        return
    usual = statistics.median(1 / point["flops_per_core"] for point in points)
    first, last = points[0], points[-1]
    rest = [point["ledger_bytes"] - point["state_bytes"] for point in (first, last)]
    for point in points:
        point["time_over_flops"] = 1 / point["flops_per_core"] / usual
        expected = rest[0]
        if table.straight and last["value"] != first["value"]:
            expected += (
                (rest[1] - rest[0]) * (point["value"] - first["value"]) / (last["value"] - first["value"])
            )
        point["predicted_bytes"] = point["state_bytes"] + expected
        point["memory_over_formula"] = point["ledger_bytes"] / point["predicted_bytes"]


HEAD = (
    "",
    "GFLOP a step",
    "step",
    "GFLOP/s a core",
    "share",
    "time/FLOP",
    "waiting",
    "ledger's peak",
    "formula",
    "peak/formula",
    "resident",
)


def cells(point):
    return (
        str(point["value"]),
        f"{point['flops'] * 1e-9:.1f}",
        f"{point['seconds']:.3f} s",
        f"{point['flops_per_core'] * 1e-9:.1f}",
        f"{point['share']:.2f}",
        f"{point['time_over_flops']:.2f}",
        f"{point['wait_seconds']:.3f} s",
        f"{point['ledger_bytes'] / MIB:.0f} MiB",
        f"{point['predicted_bytes'] / MIB:.0f} MiB",
        f"{point['memory_over_formula']:.2f}",
        f"{point['resident_bytes'] / MIB:.0f} MiB",
    )


def text(result):
    lines = [f"\n== {result['name']}: {result['title']}", "".join(f"{name:>15}" for name in HEAD)]
    lines += ["".join(f"{each:>15}" for each in cells(point)) for point in result["points"]]
    lines += [f"  {value} failed: {reason}" for value, reason in result["failures"].items()]
    return "\n".join(lines)


def markdown(results, header):
    lines = [header]
    for result in results:
        lines += [
            "",
            result["title"] + ":",
            "",
            f"| {result['name']} | " + " | ".join(HEAD[1:]) + " |",
            "|" + "---:|" * len(HEAD),
        ]
        lines += ["| " + " | ".join(cells(point)) + " |" for point in result["points"]]
        lines += [f"\n{value} failed: {reason}" for value, reason in result["failures"].items()]
    return "\n".join(lines) + "\n"
