"""Times whole training steps in PyTorch, as bench_step times Octant's; rank 0 prints one line of JSON.

  python torch_step.py --threads 1 [--dtype bf16] [--compile]
  torchrun --nproc-per-node 2 torch_step.py --mode ddp|fsdp2|tensor|pipeline|deepspeed [--stage 0..3]

AdamW with clipping in every mode. bf16 means autocast with parameters in f32, or what the mode offers
instead: FSDP2's mixed precision policy, DeepSpeed's bf16 with master weights.
"""

import argparse
import contextlib
import json
import os
import resource
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch_models import Model, loss_of, pipeline_layers

ADAMW = {"lr": 1e-4, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1}
CLIP = 1.0


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--mode", default="single", choices=["single", "ddp", "fsdp2", "tensor", "pipeline", "deepspeed"]
    )
    parser.add_argument("--stage", type=int, default=0, help="DeepSpeed's ZeRO stage")
    parser.add_argument("--dtype", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--compile", action="store_true")
    parser.add_argument(
        "--whole-vocabulary",
        action="store_true",
        help="tensor: table and head whole on every rank instead of cut",
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3, help="measured, after two that are not")
    parser.add_argument("--family", default="gpt2", choices=["gpt2", "llama"])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--kv-heads", type=int, default=0)
    parser.add_argument("--ffn", type=int, default=0)
    parser.add_argument("--vocab", type=int, default=50257)
    parser.add_argument("--sequence", type=int, default=256)
    parser.add_argument("--micro", type=int, default=4)
    parser.add_argument("--accumulation", type=int, default=1)
    options = parser.parse_args()
    options.kv_heads = options.kv_heads or options.heads
    options.ffn = options.ffn or (
        4 * options.hidden if options.family == "gpt2" else (options.hidden * 8 // 3 + 255) // 256 * 256
    )
    options.separate_projections = options.mode == "tensor"
    return options


def seconds_since_process_start():
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")


def autocast(options):
    on = options.dtype == "bf16" and options.mode in ("single", "ddp", "tensor", "pipeline")
    return torch.autocast("cpu", torch.bfloat16) if on else contextlib.nullcontext()


def leave():
    """Ends all ranks together and at once: PyTorch's own threads may abort an orderly end."""
    if dist.is_initialized():
        dist.barrier()
    os._exit(0)


def over_ranks(value, operation):
    if not dist.is_initialized():
        return value
    tensor = torch.tensor([value], dtype=torch.float64)
    dist.all_reduce(tensor, op=operation)
    return tensor.item()


class Trainer:
    """One rank or a replica of many: forward and backward of each micro-batch, clip, update."""

    def __init__(self, options):
        self.options = options
        self.accumulation = options.accumulation
        model = Model(options)
        self.prepare(model)
        self.optimizer = self.make_optimizer()
        self.run = torch.compile(self.module) if options.compile else self.module

    def prepare(self, model):
        self.module = model

    def make_optimizer(self):
        return torch.optim.AdamW(self.module.parameters(), fused=True, **ADAMW)

    def gradients_of_last_only(self, last):
        return contextlib.nullcontext()

    def forward_backward(self, tokens, targets):
        total = 0.0
        for index in range(self.accumulation):
            with self.gradients_of_last_only(index == self.accumulation - 1):
                with autocast(self.options):
                    loss = self.run(tokens[index], targets[index]) / self.accumulation
                loss.backward()
            total += loss.item()
        return total

    def clip(self):
        torch.nn.utils.clip_grad_norm_(self.module.parameters(), CLIP)

    def step(self, tokens, targets):
        loss = self.forward_backward(tokens, targets)
        self.clip()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss


class Ddp(Trainer):
    def prepare(self, model):
        self.module = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)

    def gradients_of_last_only(self, last):
        return contextlib.nullcontext() if last else self.module.no_sync()


class Fsdp2(Trainer):
    def prepare(self, model):
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        policy = MixedPrecisionPolicy()
        if self.options.dtype == "bf16":
            policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for block in model.blocks:
            fully_shard(block, mesh=mesh, mp_policy=policy)
        self.module = fully_shard(model, mesh=mesh, mp_policy=policy)


class TensorParallel(Trainer):
    """Attention and MLP cut by columns and rows; table, head and loss cut by vocabulary."""

    def prepare(self, model):
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import Replicate, Shard
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        plan = {
            "attention.query": ColwiseParallel(),
            "attention.key": ColwiseParallel(),
            "attention.value": ColwiseParallel(),
            "attention.output": RowwiseParallel(),
            "mlp.up": ColwiseParallel(),
            "mlp.down": RowwiseParallel(),
        }
        if self.options.family == "llama":
            plan["mlp.gate"] = ColwiseParallel()
        for block in model.blocks:
            parallelize_module(block, mesh, plan)
        if not self.options.whole_vocabulary:
            parallelize_module(
                model,
                mesh,
                {
                    "table": RowwiseParallel(input_layouts=Replicate(), output_layouts=Replicate()),
                    "head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False),
                },
            )
            if self.options.family == "gpt2":
                model.tie()
        self.module = model

    def forward_backward(self, tokens, targets):
        if self.options.whole_vocabulary:
            return super().forward_backward(tokens, targets)
        from torch.distributed.tensor.parallel import loss_parallel

        with loss_parallel():
            return super().forward_backward(tokens, targets)

    def make_optimizer(self):
        # The fused update takes whole tensors or cut ones, but not both in one call.
        return Both(*(torch.optim.AdamW(part, fused=True, **ADAMW) for part in self.by_kind()))

    def by_kind(self):
        from torch.distributed.tensor import DTensor

        cut = [p for p in self.module.parameters() if isinstance(p, DTensor)]
        return cut, [p for p in self.module.parameters() if not isinstance(p, DTensor)]

    def clip(self):
        cut, whole = self.by_kind()
        norms = [
            torch.nn.utils.get_total_norm([p.grad for p in cut]).full_tensor(),
            torch.nn.utils.get_total_norm([p.grad for p in whole]),
        ]
        factor = (CLIP / (torch.linalg.vector_norm(torch.stack(norms)) + 1e-6)).clamp(max=1.0)
        torch._foreach_mul_([p.grad.to_local() for p in cut] + [p.grad for p in whole], factor)


class Both:
    """Two optimizers as one."""

    def __init__(self, *optimizers):
        self.optimizers = optimizers

    def step(self):
        for optimizer in self.optimizers:
            optimizer.step()

    def zero_grad(self, set_to_none):
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=set_to_none)


class Pipeline:
    """1F1B, each rank one stage, table and head not tied; the norm is one over all stages."""

    def __init__(self, options):
        from torch.distributed.pipelining import PipelineStage, Schedule1F1B

        self.options = options
        rank, stages = dist.get_rank(), dist.get_world_size()
        self.first, self.last = rank == 0, rank == stages - 1
        self.module = Model(options, pipeline_layers(options, stages, rank), self.first, self.last)
        self.optimizer = torch.optim.AdamW(self.module.parameters(), fused=True, **ADAMW)
        stage = PipelineStage(self.module, rank, stages, torch.device("cpu"))
        self.schedule = Schedule1F1B(stage, options.accumulation, loss_fn=loss_of)

    def step(self, tokens, targets):
        losses = []
        with autocast(self.options):
            if self.first:
                self.schedule.step(tokens.flatten(0, 1))
            elif self.last:
                self.schedule.step(target=targets.flatten(0, 1), losses=losses)
            else:
                self.schedule.step()
        gradients = [p.grad for p in self.module.parameters()]
        square = torch.nn.utils.get_total_norm(gradients) ** 2
        dist.all_reduce(square)
        torch.nn.utils.clip_grads_with_norm_(self.module.parameters(), CLIP, square.sqrt())
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return torch.stack(losses).mean().item() if losses else float("nan")


class DeepSpeed:
    def __init__(self, options):
        import deepspeed

        self.accumulation = options.accumulation
        model = Model(options)
        config = {
            "train_micro_batch_size_per_gpu": options.micro,
            "gradient_accumulation_steps": options.accumulation,
            "gradient_clipping": CLIP,
            "zero_optimization": {"stage": options.stage},
            "bf16": {"enabled": options.dtype == "bf16"},
            "zero_allow_untested_optimizer": True,
        }
        optimizer = torch.optim.AdamW(model.parameters(), fused=True, **ADAMW)
        self.module, *_ = deepspeed.initialize(
            model=model, optimizer=optimizer, config=config, dist_init_required=False
        )

    def step(self, tokens, targets):
        total = 0.0
        for index in range(self.accumulation):
            loss = self.module(tokens[index], targets[index])
            self.module.backward(loss)
            self.module.step()
            total += loss.item() / self.accumulation
        return total


MODES = {
    "single": Trainer,
    "ddp": Ddp,
    "fsdp2": Fsdp2,
    "tensor": TensorParallel,
    "pipeline": Pipeline,
    "deepspeed": DeepSpeed,
}


def main():
    options = arguments()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    if options.mode == "deepspeed":
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
        import deepspeed

        deepspeed.init_distributed(dist_backend="gloo")
    elif options.mode != "single":
        dist.init_process_group("gloo")
    ranks = dist.get_world_size() if dist.is_initialized() else 1
    rank = dist.get_rank() if dist.is_initialized() else 0
    trainer = MODES[options.mode](options)

    replicas = ranks if options.mode in ("ddp", "fsdp2", "deepspeed") else 1
    generator = torch.Generator().manual_seed(rank if replicas > 1 else 0)
    seconds, loss = [], 0.0
    for step in range(-2, options.steps):
        batch = torch.randint(
            0, options.vocab, (options.accumulation, options.micro, options.sequence + 1), generator=generator
        )
        tokens, targets = batch[..., :-1].contiguous(), batch[..., 1:].contiguous()
        if ranks > 1:
            dist.barrier()
        if step == -2:
            first_step_at, start_seconds = time.monotonic(), seconds_since_process_start()
        begin = time.perf_counter()
        loss = trainer.step(tokens, targets)
        mine = over_ranks(time.perf_counter() - begin, dist.ReduceOp.MAX)
        if step >= 0:
            seconds.append(mine)
    resident = over_ranks(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0, dist.ReduceOp.MAX)
    # Of a pipeline only the last rank knows the loss, and a NaN does not win a maximum everywhere.
    loss = over_ranks(-1e30 if loss != loss else loss, dist.ReduceOp.MAX)
    tokens_per_step = options.micro * options.accumulation * options.sequence * replicas
    versions = {"torch": torch.__version__}
    if options.mode == "deepspeed":
        versions["deepspeed"] = sys.modules["deepspeed"].__version__
    if rank == 0:
        print(
            json.dumps(
                {
                    "mode": options.mode,
                    "dtype": options.dtype,
                    "compile": options.compile,
                    "ranks": ranks,
                    "threads": torch.get_num_threads(),
                    "versions": versions,
                    "step_seconds": seconds,
                    "tokens_per_step": tokens_per_step,
                    "tokens_per_second": tokens_per_step / statistics.median(seconds),
                    "loss": loss,
                    "resident_bytes": resident,
                    "start_seconds": start_seconds,
                    "first_step_at": first_step_at,
                }
            ),
            flush=True,
        )
    leave()


if __name__ == "__main__":
    main()
