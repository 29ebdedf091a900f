"""Times gloo's collectives from 64 bytes to 32 MiB, as bench_collectives times Octant's; rank 0 prints one
line of JSON.

  torchrun --nproc-per-node 2 torch_collectives.py
"""

import json
import statistics
import time

import torch
import torch.distributed as dist

SIZES = [64, 512, 4 << 10, 64 << 10, 512 << 10, 4 << 20, 32 << 20]


def slowest_median(repeats, action):
    seconds = []
    for repeat in range(-2, repeats):
        dist.barrier()
        begin = time.perf_counter()
        action()
        if repeat >= 0:
            seconds.append(time.perf_counter() - begin)
    median = torch.tensor([statistics.median(seconds)], dtype=torch.float64)
    dist.all_reduce(median, op=dist.ReduceOp.MAX)
    return median.item()


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    ranks = dist.get_world_size()
    measurements = []
    for operation in ("all_reduce", "reduce_scatter", "all_gather"):
        for size in SIZES:
            count = max(1, size // 4 // ranks)
            whole, part = torch.zeros(count * ranks), torch.zeros(count)
            action = {
                "all_reduce": lambda: dist.all_reduce(whole),
                "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, whole),
                "all_gather": lambda: dist.all_gather_into_tensor(whole, part),
            }[operation]
            try:
                seconds = slowest_median(11 if size > (1 << 20) else 51, action)
            except RuntimeError as error:  # a version without this operation on gloo
                measurements.append({"operation": operation, "size": size, "error": str(error)})
                continue
            moved = whole.numel() * 4 * (ranks - 1) / ranks * (2 if operation == "all_reduce" else 1)
            measurements.append(
                {
                    "operation": operation,
                    "size": size,
                    "bytes": whole.numel() * 4,
                    "seconds": seconds,
                    "bytes_per_second": moved / seconds,
                }
            )
    if dist.get_rank() == 0:
        print(
            json.dumps(
                {
                    "ranks": ranks,
                    "transport": "gloo",
                    "versions": {"torch": torch.__version__},
                    "measurements": measurements,
                }
            ),
            flush=True,
        )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
