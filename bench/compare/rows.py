"""The rows of the comparison: which programs run in turns, and what their figures have to show."""

from dataclasses import dataclass

from programs import Program

RATE = "tokens_per_second"


@dataclass(frozen=True)
class Check:
    """`ours` divided by the best of `peers` (by nothing if there are none), set against an aim.

    `by` multiplies the peer first; `low` says that a smaller figure is the better one, and then the ratio of
    a peer is its figure divided by ours, unless `direct`. `aim` None: shown, nothing demanded.
    """

    text: str
    ours: str
    peers: tuple = ()
    aim: float = None
    at_most: bool = False
    metric: str = RATE
    low: bool = False
    direct: bool = False
    by: float = 1.0


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    programs: tuple
    checks: tuple


GPT2 = {"layers": 12, "hidden": 768, "heads": 12, "vocab": 50257, "sequence": 256, "micro": 4}
LLAMA = {
    "family": "llama",
    "layers": 12,
    "hidden": 768,
    "heads": 12,
    "kv_heads": 4,
    "ffn": 2048,
    "vocab": 32000,
    "sequence": 1024,
    "micro": 1,
}
SMALL = {"layers": 2, "hidden": 192, "heads": 6, "vocab": 1001, "sequence": 64, "micro": 4}
SMALL_LLAMA = {
    "family": "llama",
    "layers": 2,
    "hidden": 192,
    "heads": 6,
    "kv_heads": 2,
    "vocab": 1001,
    "sequence": 128,
    "micro": 2,
}
SIZE = 32 << 20
COLLECTIVES = ("all_reduce", "reduce_scatter", "all_gather")


def one_rank(name, title, shape, dtype, threads, share, steps):
    common = dict(shape, dtype=dtype, threads=threads, steps=steps)
    return Row(
        name,
        f"{title}, one rank, {threads} thread{'s' if threads > 1 else ''}",
        (
            Program("Octant", "step", common),
            Program("PyTorch eager", "torch_step", common),
            Program("PyTorch compiled", "torch_step", dict(common, compile=True)),
        ),
        (
            Check(
                "the better of PyTorch eager and compiled",
                "Octant",
                ("PyTorch eager", "PyTorch compiled"),
                1.20,
            ),
            Check("share of the matmul rate", "Octant", (), share, metric="share"),
        ),
    )


def data_two(shape, dtype, steps):
    common = dict(shape, dtype=dtype, steps=steps)
    stages = (0, 1, 2)
    programs = [Program(f"Octant stage {s}", "step", dict(common, data=2, stage=s)) for s in stages]
    programs.append(Program("DDP", "torch_step", dict(common, mode="ddp"), 2))
    programs += [
        Program(f"DeepSpeed stage {s}", "torch_step", dict(common, mode="deepspeed", stage=s), 2, "deepspeed")
        for s in stages
    ]
    checks = [Check("DDP", f"Octant stage {s}", ("DDP",), 1.25) for s in stages]
    checks += [
        Check(f"DeepSpeed stage {s}", f"Octant stage {s}", (f"DeepSpeed stage {s}",), 1.4) for s in stages
    ]
    return Row(
        f"ddp-{dtype}", f"{dtype}, data 2, stages 0 to 2, one thread each", tuple(programs), tuple(checks)
    )


def stage_three(shape, dtype, steps):
    common = dict(shape, dtype=dtype, steps=steps)
    return Row(
        f"stage3-{dtype}",
        f"{dtype}, data 2, stage 3, one thread each",
        (
            Program("Octant stage 3", "step", dict(common, data=2, stage=3)),
            Program("Octant stage 1", "step", dict(common, data=2, stage=1)),
            Program("FSDP2", "torch_step", dict(common, mode="fsdp2"), 2),
            Program(
                "DeepSpeed stage 3", "torch_step", dict(common, mode="deepspeed", stage=3), 2, "deepspeed"
            ),
        ),
        (
            Check("FSDP2", "Octant stage 3", ("FSDP2",), 1.4),
            Check("Octant stage 1", "Octant stage 3", ("Octant stage 1",), 0.95),
            Check("DeepSpeed stage 3", "Octant stage 3", ("DeepSpeed stage 3",)),
        ),
    )


def tensor_two(shape, dtype, steps):
    common = dict(shape, dtype=dtype, steps=steps)
    torch = dict(common, mode="tensor")
    peers = ("PyTorch, vocabulary cut", "PyTorch, vocabulary whole")
    return Row(
        f"tensor-{dtype}",
        f"{dtype}, tensor 2, one thread each",
        (
            Program("Octant", "step", dict(common, tensor=2)),
            Program(peers[0], "torch_step", torch, 2),
            Program(peers[1], "torch_step", dict(torch, whole_vocabulary=True), 2),
        ),
        (Check("the better of PyTorch's two", "Octant", peers, 1.9),),
    )


def pipeline_two(shape, micro_batches, dtype, steps):
    common = dict(shape, dtype=dtype, steps=steps)
    bubble = 1 / (micro_batches + 1)
    return Row(
        f"pipeline-{micro_batches}-{dtype}",
        f"{dtype}, pipeline 2, {micro_batches} micro-batches",
        (
            Program("Octant", "step", dict(common, pipeline=2, accumulation=micro_batches)),
            # As many tokens and as much of the optimizer a rank, without a bubble.
            Program("Octant data 2", "step", dict(common, data=2, stage=1, accumulation=micro_batches // 2)),
            Program(
                "PyTorch 1F1B", "torch_step", dict(common, mode="pipeline", accumulation=micro_batches), 2
            ),
        ),
        (
            Check(f"{1 - bubble:.3f} of two ranks' rate", "Octant", ("Octant data 2",), 0.95, by=1 - bubble),
            Check("PyTorch 1F1B", "Octant", ("PyTorch 1F1B",), 1.5),
        ),
    )


def cube(shape, steps):
    common = dict(shape, dtype="f32", stage=1, data=2, accumulation=2, steps=steps)
    return Row(
        "cube",
        "f32, 2 x 2 x 2 as eight thread ranks on this machine",
        (
            Program("Octant 2 x 2 x 2", "step", dict(common, tensor=2, pipeline=2)),
            Program("Octant data 2", "step", common),
        ),
        (Check("the two-rank rate", "Octant 2 x 2 x 2", ("Octant data 2",), 0.80),),
    )


def mpi_against_threads(shape, steps):
    layouts = {
        "data 2": {"data": 2, "stage": 1},
        "tensor 2": {"tensor": 2},
        "pipeline 2": {"pipeline": 2, "accumulation": 4},
    }
    programs, checks = [], []
    for name, layout in layouts.items():
        options = dict(shape, dtype="f32", steps=steps, **layout)
        programs += [
            Program(f"mpi, {name}", "step", options, 2),
            Program(f"threads, {name}", "step", options),
        ]
        checks.append(Check(f"threads, {name}", f"mpi, {name}", (f"threads, {name}",), 0.93))
    return Row("mpi", "f32, mpi against threads in the same layout", tuple(programs), tuple(checks))


def collectives():
    checks = []
    for transport, aim in (("threads", 3.0), ("mpi", 2.5)):
        for operation in COLLECTIVES:
            checks += [
                Check(
                    f"gloo, {operation} of 32 MiB",
                    transport,
                    ("gloo",),
                    aim,
                    metric=f"{operation} {SIZE} rate",
                ),
                Check(
                    f"share of a copy, {operation} of 32 MiB",
                    transport,
                    (),
                    0.7,
                    metric=f"{operation} {SIZE} share of copy",
                ),
            ]
    return Row("collectives", "collectives of 32 MiB between two ranks", transports(), tuple(checks))


def latency():
    checks = [
        Check(
            f"gloo, all_reduce of {size} bytes, its time over ours",
            transport,
            ("gloo",),
            1.0,
            metric=f"all_reduce {size} seconds",
            low=True,
        )
        for transport in ("threads", "mpi")
        for size in (64, 512, 4 << 10, 64 << 10)
    ]
    return Row("latency", "small all-reduces between two ranks", transports(), tuple(checks))


def transports():
    return (
        Program("threads", "collectives"),
        Program("mpi", "collectives", {}, 2),
        Program("gloo", "torch_collectives", {}, 2),
    )


def start(shape):
    common = dict(shape, dtype="f32", steps=1)
    two = dict(common, data=2)
    ours = ("Octant, one rank", "Octant data 2", "Octant data 2, mpi")
    metric = "command_to_first_step"
    checks = [
        Check(
            "seconds from the command to the first step", name, (), 1.0, at_most=True, metric=metric, low=True
        )
        for name in ours
    ]
    checks.append(
        Check("DDP, its time to the first step over ours", ours[2], ("DDP",), metric=metric, low=True)
    )
    return Row(
        "start",
        "f32, from the command to the start of the first step, initial weights included",
        (
            Program(ours[0], "step", common),
            Program(ours[1], "step", two),
            Program(ours[2], "step", two, 2),
            Program("DDP", "torch_step", dict(common, mode="ddp"), 2),
        ),
        tuple(checks),
    )


def memory(shape, steps):
    common = dict(shape, dtype="f32", steps=steps)
    return Row(
        "memory",
        "f32, one rank: peak resident memory",
        (Program("Octant", "step", common), Program("PyTorch eager", "torch_step", common)),
        (
            Check(
                "PyTorch eager, resident memory",
                "Octant",
                ("PyTorch eager",),
                0.75,
                at_most=True,
                metric="resident_per_rank",
                low=True,
                direct=True,
            ),
            Check(
                "resident memory less 100 MiB over the ledger's peak",
                "Octant",
                (),
                1.10,
                at_most=True,
                metric="resident_over_ledger",
                low=True,
            ),
        ),
    )


def all_rows(quick, steps):
    gpt2, llama = (SMALL, SMALL_LLAMA) if quick else (GPT2, LLAMA)
    rows = [
        one_rank(f"{dtype}-{threads}", f"GPT-2, {dtype}", gpt2, dtype, threads, share, steps)
        for dtype, share in (("f32", 0.88), ("bf16", 0.78))
        for threads in (1, 2)
    ]
    for make in (data_two, stage_three, tensor_two):
        rows += [make(gpt2, dtype, steps) for dtype in ("f32", "bf16")]
    rows += [pipeline_two(gpt2, count, dtype, steps) for count in (4, 8) for dtype in ("f32", "bf16")]
    rows += [cube(gpt2, steps), mpi_against_threads(gpt2, steps), collectives(), latency()]
    rows += [
        one_rank(f"llama-{dtype}-{threads}", f"LLaMA-shaped, {dtype}", llama, dtype, threads, share, steps)
        for dtype, share in (("f32", 0.88), ("bf16", 0.78))
        for threads in (1, 2)
    ]
    return rows + [start(gpt2), memory(gpt2, steps)]


def chosen(rows, names):
    """Rows by name or by the beginning of a name up to a dash; ValueError names an unknown one."""
    if not names:
        return rows
    for name in names:
        if not any(row.name == name or row.name.startswith(name + "-") for row in rows):
            raise ValueError(f"no row is called {name}; there are: {', '.join(row.name for row in rows)}")
    return [row for row in rows if any(row.name == name or row.name.startswith(name + "-") for name in names)]
