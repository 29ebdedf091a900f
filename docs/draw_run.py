#!/usr/bin/env python3
"""Draws the loss curve of a run: docs/draw_run.py runs/quickstart docs/run.svg"""
import json
import math
import pathlib
import sys

WIDTH, HEIGHT = 900, 380
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 70, 56
INK, PALE, GRID, STEP, EVAL = "#222222", "#666666", "#e3e3e3", "#4a88bf", "#c4651a"


def main(run, output):
    rows = [json.loads(line) for line in (pathlib.Path(run) / "metrics.jsonl").read_text().splitlines()]
    summary = json.loads((pathlib.Path(run) / "summary.json").read_text())
    losses = [(row["step"], row["loss"]) for row in rows if row.get("loss") is not None]
    evals = [(row["step"], row["eval_loss"]) for row in rows if row.get("eval_loss") is not None]
    tokens = [row["total_tokens"] for row in rows if "total_tokens" in row][-1]
    last = losses[-1][0]
    low = math.floor(min(loss for _, loss in losses + evals) * 2) / 2
    high = math.ceil(max(loss for _, loss in losses + evals) * 2) / 2

    def x(step):
        return LEFT + (WIDTH - LEFT - RIGHT) * step / last

    def y(loss):
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - loss) / (high - low)

    def text(at_x, at_y, content, size=12, fill=PALE, anchor="start", weight="normal"):
        return (f'<text x="{at_x:.1f}" y="{at_y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" '
                f'font-weight="{weight}">{content}</text>')

    sizes = {axis: 1 + max(rank[axis] for rank in summary["ranks"]) for axis in ("data", "tensor", "pipeline")}
    layout = " × ".join(f"{axis} {size}" for axis, size in sizes.items())
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="sans-serif">', '<rect width="100%" height="100%" fill="#ffffff"/>',
           text(LEFT, 28, f'{summary["name"]}: {summary["parameters"] / 1e6:.2f} M parameters, {layout}', 15, INK, weight="bold"),
           text(LEFT, 48, f"loss in nats a byte over {tokens / 1e6:.2f} M tokens; the dots are the validation split")]
    for half in range(int(low * 2), int(high * 2) + 1):
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(half / 2):.1f}" y2="{y(half / 2):.1f}" stroke="{GRID}"/>')
        if half % 2 == 0:
            out.append(text(LEFT - 10, y(half / 2) + 4, f"{half / 2:g}", anchor="end"))
    for tick in range(0, last + 1, max(1, last // 8)):
        out.append(text(x(tick), HEIGHT - BOTTOM + 20, tick, anchor="middle"))
    out.append(text(LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - 14, "step", anchor="middle"))
    points = " ".join(f"{x(step):.1f},{y(loss):.1f}" for step, loss in losses)
    out.append(f'<polyline points="{points}" fill="none" stroke="{STEP}" stroke-width="1.5"/>')
    for step, loss in evals:
        out.append(f'<circle cx="{x(step):.1f}" cy="{y(loss):.1f}" r="4.5" fill="{EVAL}" stroke="#ffffff" stroke-width="1"/>')
        out.append(text(min(x(step), WIDTH - RIGHT - 14), y(loss) - 14, f"{loss:.3f}", 12, EVAL, "middle"))
    out.append("</svg>")
    pathlib.Path(output).write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
