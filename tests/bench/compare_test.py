"""bench/compare without its programs: the arithmetic of ratios, and how it treats what is missing or fails.

Small scripts stand for bench_step and for an environment's Python, so that every figure is known.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "compare"))

import compare  # noqa: E402
import programs  # noqa: E402
import report  # noqa: E402
import rows  # noqa: E402
import scaling  # noqa: E402


def steps(tokens, *seconds, **more):
    return dict({"tokens_per_step": tokens, "step_seconds": list(seconds)}, **more)


class Ratios(unittest.TestCase):
    def test_is_a_ratio_of_medians_and_its_spread_is_over_rounds(self):
        check = rows.Check("b", "a", ("b",), 2.0)
        rounds = [
            {"a": steps(100, 1.0, 1.0, 9.0), "b": steps(50, 1.0, 1.0, 1.0)},
            {"a": steps(100, 2.0, 2.0, 2.0), "b": steps(50, 1.0, 1.0, 1.0)},
            {"a": steps(100, 1.0, 1.0, 1.0), "b": steps(50, 1.5, 1.5, 1.5)},
        ]
        found = report.evaluate(check, rounds)
        self.assertAlmostEqual(found["ratio"], 2.0)  # 100 against 50, though a mean would say less
        self.assertAlmostEqual(found["lowest"], 1.0)
        self.assertAlmostEqual(found["highest"], 3.0)
        self.assertEqual(found["verdict"], "met")

    def test_compares_with_the_better_peer(self):
        check = rows.Check("the better", "a", ("slow", "fast"), 1.2)
        found = report.evaluate(check, [{"a": steps(7, 1.0), "slow": steps(5, 1.0), "fast": steps(6, 1.0)}])
        self.assertEqual(found["peer"], "fast")
        self.assertAlmostEqual(found["ratio"], 7 / 6)
        self.assertEqual(found["verdict"], "short")

    def test_a_smaller_time_is_a_larger_ratio_and_smaller_memory_a_smaller_one(self):
        rounds = [{"a": {"time": 2.0, "memory": 3.0}, "b": {"time": 5.0, "memory": 4.0}}]
        time = report.evaluate(rows.Check("b", "a", ("b",), 1.0, metric="time", low=True), rounds)
        self.assertAlmostEqual(time["ratio"], 2.5)
        memory = report.evaluate(
            rows.Check("b", "a", ("b",), 0.75, at_most=True, metric="memory", low=True, direct=True), rounds
        )
        self.assertAlmostEqual(memory["ratio"], 0.75)
        self.assertEqual(memory["verdict"], "met")

    def test_the_bubble_lowers_what_is_asked(self):
        found = report.evaluate(
            rows.Check("0.8 of b", "a", ("b",), 0.95, by=0.8), [{"a": steps(76, 1.0), "b": steps(100, 1.0)}]
        )
        self.assertAlmostEqual(found["ratio"], 0.95)

    def test_a_missing_peer_leaves_the_others(self):
        rounds = [{"a": steps(9, 1.0), "b": steps(3, 1.0)}]
        self.assertEqual(report.evaluate(rows.Check("", "a", ("b", "gone")), rounds)["peer"], "b")
        self.assertEqual(
            report.evaluate(rows.Check("", "a", ("gone",), 1.0), rounds)["verdict"], "not measured"
        )

    def test_torch_gets_its_share_from_octants_count(self):
        row = rows.Row("r", "", (programs.Program("a", "step"), programs.Program("b", "torch_step")), ())
        common = {"resident_per_rank": 1, "command_to_first_step": 1.0}
        ours = steps(10, 1.0, flops_per_step=200.0, matmul_rate=400.0, **common)
        found = report.summarise(row, [{"a": ours, "b": steps(30, 2.0, **common)}], {})
        self.assertAlmostEqual(found["programs"][0]["share"], 0.5)
        self.assertAlmostEqual(found["programs"][1]["share"], 0.75)


class Rows(unittest.TestCase):
    def test_every_check_names_programs_of_its_row(self):
        names = set()
        for row in rows.all_rows(False, 3):
            self.assertNotIn(row.name, names)
            names.add(row.name)
            labels = [program.label for program in row.programs]
            self.assertEqual(len(labels), len(set(labels)), row.name)
            for check in row.checks:
                self.assertLessEqual({check.ours, *check.peers}, set(labels), row.name)

    def test_a_beginning_chooses_all_rows_that_have_it(self):
        self.assertEqual(
            [row.name for row in rows.chosen(rows.all_rows(True, 1), ["ddp", "f32-2"])],
            ["f32-2", "ddp-f32", "ddp-bf16"],
        )
        with self.assertRaisesRegex(ValueError, "no row is called dd;"):
            rows.chosen(rows.all_rows(True, 1), ["dd"])


class Scaling(unittest.TestCase):
    def test_memory_between_the_ends_is_set_against_a_straight_line(self):
        table = scaling.Table("layers", "", (), "value")
        points = [
            {"value": v, "flops_per_core": 1.0, "state_bytes": 10.0 * v, "ledger_bytes": b}
            for v, b in ((2, 30.0), (4, 70.0), (6, 90.0))
        ]
        scaling.add_predictions(table, points)
        self.assertEqual([point["predicted_bytes"] for point in points], [30.0, 60.0, 90.0])
        self.assertAlmostEqual(points[1]["memory_over_formula"], 7 / 6)


class Command(unittest.TestCase):
    """The command itself, with scripts in place of the programs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        ours = {
            "step_seconds": [0.5, 0.5],
            "tokens_per_step": 100,
            "flops_per_step": 800.0,
            "matmul_rate": 2000.0,
            "share": 0.8,
            "resident_bytes": 1 << 20,
            "ledger_peak_bytes": 1000.0,
            "ranks_per_process": 1,
            "first_step_at": 0.0,
        }
        self.script(
            self.folder / "build/bench/step/bench_step",
            f"import sys\nopen(sys.argv[sys.argv.index('--json') + 1], 'w').write('''{json.dumps(ours)}''')",
        )
        theirs = {
            "step_seconds": [2.0],
            "tokens_per_step": 100,
            "resident_bytes": 1 << 21,
            "first_step_at": 0.0,
        }
        self.torch = f"""import sys
with open({str(self.folder / 'order')!r}, 'a') as f: f.write('torch ' if '-c' not in sys.argv else '')
if '-c' in sys.argv: print('{{"torch": "9.9"}}')
elif '--compile' in sys.argv: sys.exit('RuntimeError: no compiler')
else: print('a warning', '''{json.dumps(theirs)}''', sep='\\n')
"""

    def script(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!{sys.executable}\n{text}\n")
        path.chmod(0o755)

    def run_command(self, *options, torch=None):
        environment = {} if torch is None else {"OCTANT_TORCH": str(torch)}
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.dict(os.environ, environment), contextlib.redirect_stdout(
            out
        ), contextlib.redirect_stderr(err):
            if torch is None:
                os.environ.pop("OCTANT_TORCH", None)
            code = compare.main(["--build", str(self.folder / "build"), *options])
        return code, out.getvalue(), err.getvalue()

    def test_says_which_variable_to_set(self):
        code, _, said = self.run_command("--rows", "f32-1")
        self.assertEqual(code, 2)
        self.assertIn("OCTANT_TORCH is not set", said)

    def test_says_that_torch_cannot_be_imported(self):
        self.script(self.folder / "venv/bin/python", "raise SystemExit('ModuleNotFoundError: no torch here')")
        code, _, said = self.run_command("--rows", "f32-1", torch=self.folder / "venv")
        self.assertEqual(code, 2)
        self.assertIn("no torch here", said)

    def test_says_what_to_build(self):
        code, _, said = self.run_command("--build", str(self.folder / "nothing"), "--rows", "cube")
        self.assertEqual(code, 2)
        self.assertIn("cmake --build", said)

    def test_a_row_without_torch_needs_no_variable(self):
        code, said, _ = self.run_command("--rows", "cube", "--rounds", "2")
        self.assertEqual(code, 0)
        self.assertIn("Octant 2 x 2 x 2 / the two-rank rate: 1 (1 … 1 over 2 rounds), aim ≥ 0.8 met", said)

    def test_a_program_that_fails_is_named_and_the_others_go_on(self):
        self.script(self.folder / "venv/bin/python", self.torch)
        code, said, _ = self.run_command("--rows", "f32-1", "--rounds", "3", torch=self.folder / "venv")
        self.assertEqual(code, 1)
        self.assertIn("failed: exit code 1: RuntimeError: no compiler", said)
        self.assertIn("(PyTorch eager): 4 (4 … 4 over 3 rounds)", said)
        # Three rounds of the eager one and one try of the compiled one.
        self.assertEqual((self.folder / "order").read_text().split(), ["torch"] * 4)
        table = (self.folder / "build/compare.md").read_text()
        self.assertIn("| f32-1 | PyTorch eager | 2.000 s | 50 | 0.20 | 2 MiB |", table)
        figures = json.loads((self.folder / "build/compare.json").read_text())
        self.assertEqual(len(figures["samples"]["f32-1"]), 3)
        self.assertEqual(figures["machine"]["versions"]["torch"], "9.9")

    def test_deepspeed_that_is_not_installed_is_said(self):
        self.script(self.folder / "venv/bin/python", self.torch)
        code, said, _ = self.run_command("--rows", "stage3-f32", "--rounds", "1", torch=self.folder / "venv")
        self.assertEqual(code, 1)
        self.assertIn("failed: deepspeed is not installed beside torch", said)
        self.assertIn("Octant stage 3 / FSDP2: 4 ", said)

    def test_a_program_that_hangs_is_ended(self):
        self.script(self.folder / "build/bench/step/bench_step", "import time\ntime.sleep(60)")
        code, said, _ = self.run_command("--rows", "cube", "--timeout", "0.5")
        self.assertEqual(code, 1)
        self.assertIn("failed: no end after 0.5 s", said)


if __name__ == "__main__":
    unittest.main()
