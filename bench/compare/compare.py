#!/usr/bin/env python3
"""Octant beside PyTorch in one run, program after program in turns, and Octant against its own formulas.

  OCTANT_TORCH=/path/to/venv python3 bench/compare/compare.py --build build/release
  OCTANT_TORCH=/path/to/venv python3 bench/compare/compare.py --rows f32-1,ddp,latency --rounds 5
  python3 bench/compare/compare.py --rows cube,mpi       rows without PyTorch need no variable
  python3 bench/compare/compare.py scaling               tables over T, layers, micro-batches and ranks
  python3 bench/compare/compare.py --list

Prints each row when it is done and keeps the JSON and a Markdown table up to date beside it. Exit code 0 when
the rows have run, whatever they show; 1 when a program failed; 2 when something has to be set or built first.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import report
import scaling
from programs import ProgramFailed, Runner
from rows import all_rows, chosen

VARIABLE = "OCTANT_TORCH"


class Unusable(Exception):
    """What has to be set or built before anything can be measured."""


def arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", default="rows", choices=["rows", "scaling"])
    parser.add_argument("--build", default="build/release", help="folder of the build with bench_step")
    parser.add_argument("--rows", default="", help="names or beginnings of names, with commas; all if empty")
    parser.add_argument("--tables", default="", help="of scaling: names with commas; all if empty")
    parser.add_argument("--rounds", type=int, default=3, help="samples of each program, taken in turns")
    parser.add_argument(
        "--steps", type=int, default=0, help="measured steps of a sample; 0: 3, or 2 with --quick"
    )
    parser.add_argument("--quick", action="store_true", help="tiny models, to see that everything runs")
    parser.add_argument("--timeout", type=float, default=900, help="seconds after which a program is ended")
    parser.add_argument(
        "--out", default="", help="JSON file, the Markdown beside it; default: in the build folder"
    )
    parser.add_argument("--list", action="store_true", help="print the names of rows and tables")
    options = parser.parse_args(argv)
    options.steps = options.steps or (2 if options.quick else 3)
    if options.rounds < 1 or options.steps < 1:
        parser.error("--rounds and --steps take a number from 1 up")
    return options


def torch_python():
    """The Python of the environment that the variable names: its folder or the program itself."""
    given = os.environ.get(VARIABLE, "")
    if not given:
        raise Unusable(
            f"{VARIABLE} is not set: let it name a virtual environment with torch, for example\n"
            f"  python3 -m venv ~/torch && ~/torch/bin/pip install torch\n"
            f"  {VARIABLE}=~/torch python3 bench/compare/compare.py"
        )
    path = Path(given).expanduser()
    candidates = [path / "bin" / "python", path / "bin" / "python3"] if path.is_dir() else [path]
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return str(candidate.absolute())  # not resolved: the link tells Python its environment
    raise Unusable(
        f"{VARIABLE}={given} has no program {candidates[0]}: let it name a virtual environment with torch"
    )


def torch_packages(python):
    """Versions of torch and of what rows may want beside it."""
    code = (
        "import json, torch, torch.distributed as d\n"
        "from importlib.metadata import version, PackageNotFoundError\n"
        "assert d.is_available() and d.is_gloo_available(), 'torch has no gloo'\n"
        "found = {'torch': torch.__version__}\n"
        "try: found['deepspeed'] = version('deepspeed')\n"
        "except PackageNotFoundError: pass\n"
        "print(json.dumps(found))"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise Unusable(
            f"{python} cannot import torch ({reason}): install it there, "
            f"or let {VARIABLE} name another environment"
        )
    return json.loads(done.stdout.splitlines()[-1])


def check_built(build, programs):
    for kind in sorted({program.kind for program in programs if not program.is_torch}):
        binary = Path(build) / "bench" / kind / f"bench_{kind}"
        if not os.access(binary, os.X_OK):
            raise Unusable(
                f"{binary} is not there: cmake --preset release && cmake --build --preset release "
                f"--target bench_step bench_collectives, or name the folder with --build"
            )


def run_row(row, runner, rounds, say):
    """Every program once a round, in the row's order. A program that has failed is not tried again."""
    samples, failures = [], {}
    for turn in range(rounds):
        samples.append({})
        for program in row.programs:
            if program.label in failures:
                continue
            say(f"{row.name}, round {turn + 1} of {rounds}: {program.label}")
            try:
                samples[-1][program.label] = runner.sample(program)
            except ProgramFailed as error:
                failures[program.label] = str(error)
    return samples, failures


def say(text):
    print(text, file=sys.stderr, flush=True)


def write(path, figures, table):
    path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    path.with_suffix(".md").write_text(table, encoding="utf-8")


def picked_tables(options):
    every = scaling.tables(options.quick, options.steps)
    names = [name for name in options.tables.split(",") if name]
    for name in names:
        if name not in [table.name for table in every]:
            raise Unusable(
                f"no table is called {name}; there are: {', '.join(table.name for table in every)}"
            )
    return [table for table in every if not names or table.name in names]


def compare_scaling(options):
    tables = picked_tables(options)
    runner = Runner(options.build, timeout=options.timeout)
    check_built(options.build, [scaling.Program("", "step")])
    machine = report.describe_machine({}, options.quick)
    path = Path(options.out or Path(options.build) / "scaling.json")
    results = []
    for table in tables:
        results.append(scaling.measure(table, runner, options.rounds, say))
        print(scaling.text(results[-1]), flush=True)
        write(
            path,
            {"machine": machine, "tables": results},
            scaling.markdown(results, report.machine_text(machine)),
        )
    say(f"\nwritten: {path} and {path.with_suffix('.md')}")
    return 1 if any(result["failures"] for result in results) else 0


def compare_rows(options):
    try:
        rows = chosen(
            all_rows(options.quick, options.steps), [name for name in options.rows.split(",") if name]
        )
    except ValueError as error:
        raise Unusable(str(error)) from error
    programs = [program for row in rows for program in row.programs]
    check_built(options.build, programs)
    python, packages = None, {}
    if any(program.is_torch for program in programs):
        python = torch_python()
        packages = torch_packages(python)
    runner = Runner(options.build, python, packages, options.timeout)
    machine = report.describe_machine(packages, options.quick)
    print(report.machine_text(machine), flush=True)
    path = Path(options.out or Path(options.build) / "compare.json")
    summaries, raw, failed = [], {}, False
    for row in rows:
        samples, failures = run_row(row, runner, options.rounds, say)
        failed = failed or bool(failures)
        raw[row.name] = samples
        summaries.append(report.summarise(row, samples, failures))
        print(report.row_text(summaries[-1]), flush=True)
        write(
            path, {"machine": machine, "rows": summaries, "samples": raw}, report.markdown(summaries, machine)
        )
    say(f"\nwritten: {path} and {path.with_suffix('.md')}")
    return 1 if failed else 0


def main(argv=None):
    options = arguments(argv)
    if options.list:
        for row in all_rows(False, options.steps):
            print(f"{row.name:<18}{row.title}")
        for table in scaling.tables(False, options.steps):
            print(f"{'scaling ' + table.name:<22}  {table.title}")
        return 0
    try:
        return compare_scaling(options) if options.what == "scaling" else compare_rows(options)
    except Unusable as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
