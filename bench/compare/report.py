"""From samples to ratios, and from ratios to text, Markdown and JSON."""

import os
import platform
import statistics
import subprocess
import time
from pathlib import Path

from programs import value_of

MIB = 1 << 20


def ratio_of(check, samples, peer):
    ours = value_of(samples.get(check.ours, []), check.metric)
    if ours is None:
        return None
    if peer is None:
        return ours
    theirs = value_of(samples.get(peer, []), check.metric)
    if not theirs:
        return None
    theirs *= check.by
    return theirs / ours if check.low and not check.direct else ours / theirs


def evaluate(check, rounds):
    """`rounds`: for each round, the sample of each program by label. The ratio is one of medians over all
    rounds; its spread is the smallest and largest ratio of a single round, against the same peer."""
    pooled = {}
    for samples in rounds:
        for label, sample in samples.items():
            pooled.setdefault(label, []).append(sample)
    better = max if check.low and check.direct else min  # the ratio against the best peer
    candidates = [(ratio_of(check, pooled, peer), peer) for peer in check.peers or (None,)]
    candidates = [candidate for candidate in candidates if candidate[0] is not None]
    result = {
        "text": check.text,
        "ours": check.ours,
        "metric": check.metric,
        "aim": check.aim,
        "at_most": check.at_most,
        "relative": bool(check.peers),
    }
    if not candidates:
        return dict(result, ratio=None, verdict="not measured")
    ratio, peer = better(candidates, key=lambda candidate: candidate[0])
    single = [
        ratio_of(check, {label: [sample] for label, sample in samples.items()}, peer) for samples in rounds
    ]
    single = [value for value in single if value is not None] or [ratio]
    if check.aim is None:
        verdict = ""
    else:
        verdict = "met" if (ratio <= check.aim if check.at_most else ratio >= check.aim) else "short"
    return dict(
        result,
        peer=peer,
        ratio=ratio,
        lowest=min(single),
        highest=max(single),
        rounds=len(single),
        verdict=verdict,
    )


def summarise(row, rounds, failures):
    """A row's figures: one entry a program, one a check."""
    pooled = {
        program.label: [samples[program.label] for samples in rounds if program.label in samples]
        for program in row.programs
    }
    flops, limits = limits_of(pooled)
    programs = []
    for program in row.programs:
        samples, entry = pooled[program.label], {"label": program.label}
        if program.label in failures:
            entry["failure"] = failures[program.label]
        if samples and "step_seconds" in samples[0]:
            rate = value_of(samples, "tokens_per_second")
            entry.update(
                tokens_per_second=rate,
                step_seconds=samples[0]["tokens_per_step"] / rate,
                share=rate * flops / limits if flops and limits else None,
                resident_bytes=max(sample["resident_per_rank"] for sample in samples),
                ledger_bytes=value_of(samples, "ledger_peak_bytes"),
                command_to_first_step=value_of(samples, "command_to_first_step"),
            )
        programs.append(entry)
    return {
        "name": row.name,
        "title": row.title,
        "programs": programs,
        "checks": [evaluate(check, rounds) for check in row.checks],
    }


def limits_of(pooled):
    """Model FLOPs of a token and the machine's matmul rate, which Octant's programs of the row print."""
    ours = [sample for samples in pooled.values() for sample in samples if "matmul_rate" in sample]
    if not ours:
        return None, None
    return (
        ours[0]["flops_per_step"] / ours[0]["tokens_per_step"],
        statistics.median(sample["matmul_rate"] for sample in ours),
    )


def aim_text(check):
    if check["aim"] is None:
        return "–"
    return f"{'≤' if check['at_most'] else '≥'} {check['aim']:g}"


def what_of(check):
    what = f"{check['ours']} {'/' if check['relative'] else '–'} {check['text']}"
    best = check.get("peer")
    return f"{what} ({best})" if best and check["text"].startswith("the better") else what


def check_line(check):
    if check["ratio"] is None:
        return f"  {what_of(check)}: not measured, aim {aim_text(check)}"
    rounds = "1 round" if check["rounds"] == 1 else f"{check['rounds']} rounds"
    return (
        f"  {what_of(check)}: {check['ratio']:.3g} "
        f"({check['lowest']:.3g} … {check['highest']:.3g} over {rounds}), "
        f"aim {aim_text(check)} {check['verdict']}".rstrip()
    )


def number(value, form, scale=1.0):
    return "–" if value is None else format(value * scale, form)


def row_text(row):
    lines = [f"\n== {row['name']}: {row['title']}"]
    if any("step_seconds" in program for program in row["programs"]):
        lines.append(
            f"{'program':<28}{'step s':>9}{'tokens/s':>11}{'share':>8}{'resident':>11}{'first step':>12}"
        )
    for program in row["programs"]:
        if "step_seconds" in program:
            lines.append(
                f"{program['label']:<28}{program['step_seconds']:>9.3f}"
                f"{program['tokens_per_second']:>11.1f}{number(program['share'], '.2f'):>8}"
                f"{program['resident_bytes'] / MIB:>7.0f} MiB{program['command_to_first_step']:>10.2f} s"
            )
        if "failure" in program:
            lines.append(f"{program['label']:<28} failed: {program['failure']}")
    return "\n".join(lines + [check_line(check) for check in row["checks"]])


def cell(text):
    """Text that cannot end a cell of a Markdown table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def markdown(rows, machine):
    lines = [
        machine_text(machine),
        "",
        "| row | program | step | tokens/s | share | resident a rank | command to first step |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        for program in row["programs"]:
            if "step_seconds" in program:
                lines.append(
                    f"| {row['name']} | {program['label']} | {program['step_seconds']:.3f} s | "
                    f"{program['tokens_per_second']:.0f} | {number(program['share'], '.2f')} | "
                    f"{program['resident_bytes'] / MIB:.0f} MiB | "
                    f"{program['command_to_first_step']:.2f} s |"
                )
            elif "failure" in program:
                lines.append(
                    f"| {row['name']} | {program['label']} | failed: {cell(program['failure'])} | | | | |"
                )
    lines += ["", "| row | ratio of medians, or figure | | spread | aim | |", "|---|---|---:|---:|---:|---|"]
    for row in rows:
        for check in row["checks"]:
            if check["ratio"] is None:
                ratio, spread = "–", "–"
            else:
                ratio, spread = f"{check['ratio']:.2f}", f"{check['lowest']:.2f} … {check['highest']:.2f}"
            lines.append(
                f"| {row['name']} | {what_of(check)} | {ratio} | {spread} | {aim_text(check)} | {check['verdict']} |"
            )
    return "\n".join(lines) + "\n"


def first_line(command):
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            cwd=Path(__file__).resolve().parent,
        )
        return done.stdout.splitlines()[0].strip()
    except (OSError, subprocess.SubprocessError, IndexError):
        return None


def describe_machine(torch_versions, quick):
    """What a figure is worth nothing without."""
    try:
        names = [
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ]
    except OSError:
        names = []
    versions = {
        "octant": first_line(["git", "describe", "--always", "--dirty"]),
        **torch_versions,
        "mpi": (first_line(["mpirun", "--version"]) or "").removeprefix("mpirun "),
    }
    return {
        "date": time.strftime("%d %B %Y %H:%M"),
        "cpu": names[0] if names else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30), 1),
        "load_average": os.getloadavg()[0],
        "quick": quick,
        "versions": {name: version for name, version in versions.items() if version},
    }


def machine_text(machine):
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    note = "tiny models (--quick), whose figures say nothing: " if machine["quick"] else ""
    return (
        f"{note}{machine['date']}, {machine['cores']} cores of {machine['cpu']}, "
        f"{machine['memory_gib']} GiB, "
        f"load average {machine['load_average']:.1f} at the start; {versions}"
    )
