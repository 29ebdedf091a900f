"""The programs that a comparison runs, and how each is started and read.

A program is started afresh for every sample and hands back a dictionary of figures: what bench_step or
bench_collectives wrote with --json, or the line of JSON that our PyTorch scripts print. `add_derived` then
gives all of them the same names.
"""

import json
import os
import signal
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent


class ProgramFailed(Exception):
    pass


@dataclass(frozen=True)
class Program:
    label: str
    kind: str  # "step", "collectives", "torch_step" or "torch_collectives"
    options: dict = field(default_factory=dict, hash=False)
    processes: int = 0  # started by mpirun or torchrun; 0: one process, started directly
    needs: str = ""  # a Python package beside torch

    @property
    def is_torch(self):
        return self.kind.startswith("torch")


class Runner:
    def __init__(self, build, torch_python=None, packages=(), timeout=900):
        self.build, self.torch_python = Path(build), torch_python
        self.packages, self.timeout = packages, timeout

    def command(self, program, json_path):
        options = []
        for name, value in program.options.items():
            flag = "--" + name.replace("_", "-")
            options += [] if value is False else [flag] if value is True else [flag, str(value)]
        if program.is_torch:
            command = [self.torch_python]
            if program.processes:
                command += [
                    "-m",
                    "torch.distributed.run",
                    "--standalone",
                    "--nproc-per-node",
                    str(program.processes),
                ]
            return command + [str(HERE / f"{program.kind}.py")] + options
        binary = self.build / "bench" / program.kind / f"bench_{program.kind}"
        command = [str(binary)]
        if program.processes:
            command = [
                "mpirun",
                "--allow-run-as-root",
                "--oversubscribe",
                "--bind-to",
                "none",
                "-n",
                str(program.processes),
            ] + command
        elif program.kind == "collectives":
            command += ["2"]
        return command + options + ["--json", json_path]

    def environment(self, program):
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("OMP_", "KMP_", "GOMP_", "MKL_"))
        }
        if program.is_torch:
            environment["OMP_NUM_THREADS"] = str(program.options.get("threads", 1))
            environment["CUDA_VISIBLE_DEVICES"] = ""
            # A virtual environment that is not activated: programs beside its Python (ninja) are found too.
            environment["PATH"] = f"{Path(self.torch_python).parent}:{environment.get('PATH', '')}"
        return environment

    def sample(self, program):
        """Runs the program once. Throws ProgramFailed."""
        if program.needs and program.needs not in self.packages:
            raise ProgramFailed(f"{program.needs} is not installed beside torch")
        with tempfile.TemporaryDirectory(prefix="octant-compare-") as folder:
            json_path = os.path.join(folder, "figures.json")
            command = self.command(program, json_path)
            launched = time.monotonic()
            # A file and not a pipe, which a left-over grandchild could keep open.
            with open(os.path.join(folder, "output"), "w+", encoding="utf-8", errors="replace") as output:
                try:
                    process = subprocess.Popen(
                        command,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        stdin=subprocess.DEVNULL,
                        start_new_session=True,
                        env=self.environment(program),
                    )
                except OSError as error:
                    raise ProgramFailed(f"cannot start {command[0]}: {error.strerror}") from error
                try:
                    code = process.wait(timeout=self.timeout)
                except subprocess.TimeoutExpired as error:
                    raise ProgramFailed(f"no end after {self.timeout} s") from error
                finally:
                    stop_group(process)
                output.seek(0)
                text = output.read()
            if code != 0:
                raise ProgramFailed(f"exit code {code}: {last_words(text)}")
            if program.is_torch:
                figures = figures_in(text)
            else:
                figures = json.loads(Path(json_path).read_text(encoding="utf-8"))
        return add_derived(figures, launched)


def stop_group(process):
    """Ends what is left of a program and of the processes it started. A launcher is asked first: its ranks may
    be in groups of their own, which only it knows."""
    for number, patience in ((signal.SIGTERM, 15), (signal.SIGKILL, None)):
        if process.poll() is not None:
            return
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=patience)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def figures_in(text):
    for line in reversed(text.splitlines()):
        start = line.find("{")
        if start >= 0:
            try:
                return json.loads(line[start:])
            except ValueError:
                continue
    raise ProgramFailed(f"printed no figures: {last_words(text)}")


def last_words(text):
    """The line of a program's output that most likely says why it ended."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [
        line
        for line in lines
        if "Error" in line
        and "Traceback" not in line
        and "error_file" not in line
        and "ChildFailedError" not in line
    ]
    return (errors or lines or ["it printed nothing"])[-1 if not errors else 0][:300]


def add_derived(figures, launched):
    """Figures that rows ask for by name, computed from those that the programs give."""
    if "step_seconds" in figures:
        figures["resident_per_rank"] = figures["resident_bytes"] / figures.get("ranks_per_process", 1)
        figures["command_to_first_step"] = figures["first_step_at"] - launched
        if "ledger_peak_bytes" in figures:
            # What the ledger's figure may exceed by: 100 MiB for the program itself, then a share.
            figures["resident_over_ledger"] = (figures["resident_bytes"] - (100 << 20)) / (
                figures["ledger_peak_bytes"] * figures["ranks_per_process"]
            )
    for line in figures.get("measurements", []):
        if "error" in line:
            continue
        name = f"{line['operation']} {line['size']}"
        figures[f"{name} rate"] = line["bytes_per_second"]
        figures[f"{name} seconds"] = line["seconds"]
        if "share_of_copy" in line:
            figures[f"{name} share of copy"] = line["share_of_copy"]
    return figures


def value_of(samples, metric):
    """One figure from several samples of a program; None if no sample has it."""
    if metric == "tokens_per_second":
        seconds = [second for sample in samples for second in sample.get("step_seconds", [])]
        return samples[0]["tokens_per_step"] / statistics.median(seconds) if seconds else None
    values = [sample[metric] for sample in samples if metric in sample]
    return statistics.median(values) if values else None
