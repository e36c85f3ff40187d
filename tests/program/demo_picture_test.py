"""The pictures of deploy/demo: which part of a bar is whose, and in which colour."""

import io
import random
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

from programs import EXTENDER, ROOT, run

sys.path.insert(0, str(ROOT / "deploy/demo"))
import layout  # pylint: disable=wrong-import-position
import map as svg_map  # pylint: disable=wrong-import-position
import picture  # pylint: disable=wrong-import-position

ESCAPE = re.compile(r"\033\[30;48;5;(\d+)m(.*?)\033\[0m")


def gpu(index, *holders, memory=1000, **more):
    """`holders`: (uid, MiB)."""
    return {"index": index, "uuid": f"GPU-{index}", "model": "T4", "memoryMiB": memory, "healthy": True, "closed": None,
            "freeWhole": False, "mode": "time-slicing" if holders else "none", "usedMemoryMiB": sum(size for _, size in holders),
            "usedComputeMilli": 0, **more,
            "holders": [{"namespace": "d", "pod": uid, "uid": uid, "memoryMiB": size} for uid, size in holders]}


def mig_gpu(index, *instances):
    """`instances`: (profile, start, size, uid or "")."""
    listed = [{"profile": profile, "start": start, "size": size, **({"holder": {"uid": uid, "pod": uid}} if uid else {})}
              for profile, start, size, uid in instances]
    return gpu(index, *((uid, 1) for *_, uid in instances if uid), slices={"axis": 8, "instances": listed})


def node(*gpus, units=(), name="n"):
    return {"name": name, "pool": "auto", "closed": None, "gpus": list(gpus),
            "kubeletAssigned": [{"uid": uid, "pod": uid, "resource": "nvidia.com/gpu", "count": count}
                                for uid, count in units]}


def parts(row):
    return [(part.uid, round(part.start, 3), round(part.end, 3)) for part in row.parts]


class LayoutTest(unittest.TestCase):
    def test_shares_follow_each_other(self):
        [row] = layout.rows_of(node(gpu(0, ("a", 250), ("b", 500))))
        self.assertEqual(parts(row), [("a", 0, 0.25), ("b", 0.25, 0.75)])

    def test_slices_are_at_their_places(self):
        [row] = layout.rows_of(node(mig_gpu(0, ("3g.20gb", 4, 4, "a"), ("1g.5gb", 1, 1, ""), ("2g.10gb", 2, 2, "b"))))
        self.assertEqual(parts(row), [("", 0.125, 0.25), ("b", 0.25, 0.5), ("a", 0.5, 1)])
        self.assertEqual([part.text for part in row.parts], ["1g.5gb", "2g.10gb", "3g.20gb"])

    def test_units_of_the_kubelet_are_on_the_first_free_gpus(self):
        rows = list(layout.rows_of(node(gpu(0, ("a", 100)), gpu(1, healthy=False), mig_gpu(2), gpu(3), gpu(4), gpu(5),
                                        units=[("k", 2)])))
        self.assertEqual([parts(row) for row in rows],
                         [[("a", 0, 0.1)], [], [], [("k", 0, 1)], [("k", 0, 1)], []])
        self.assertEqual(rows[3].note, "nvidia.com/gpu: the kubelet picks the GPU")

    def test_gpus_are_counted(self):
        state = [node(gpu(0, ("a", 100)), gpu(1, healthy=False), mig_gpu(2), gpu(3), gpu(4, closed="suspect"),
                      mig_gpu(5, ("1g.5gb", 0, 1, "b")), gpu(6, freeWhole=True), gpu(7), units=[("k", 1)])]
        self.assertEqual(layout.counts_of(state), {"in use": 3, "free": 1, "free in MIG mode": 1, "closed": 2, "empty, but not free": 1})

    def test_neighbours_never_share_a_colour(self):
        """Random nodes with up to 12 pods on a GPU, pods on several GPUs and on several nodes."""
        for seed in range(300):
            rng = random.Random(seed)
            uids = [f"u{number}" for number in range(rng.randint(1, 40))]
            nodes = [node(*(gpu(index, *((uid, 80) for uid in rng.sample(uids, min(len(uids), rng.randint(0, 12)))))
                            for index in range(rng.randint(1, 4)))) for _ in range(rng.randint(1, 3))]
            # A pod holds GPUs on one node only, so each node has pods of its own.
            for number, each in enumerate(nodes):
                for card in each["gpus"]:
                    for holder in card["holders"]:
                        holder["uid"] += f"@{number}"
            numbers = layout.colours_of(nodes, 12)
            for each in nodes:
                for row in layout.rows_of(each):
                    for left, right in zip(row.parts, row.parts[1:]):
                        self.assertNotEqual(numbers[left.uid], numbers[right.uid], f"seed {seed}")

    def test_pods_above_each_other_differ_too(self):
        nodes = [node(*(gpu(index, (f"{index}a", 500), (f"{index}b", 500)) for index in range(8)))]
        numbers = layout.colours_of(nodes, len(picture.COLOURS))
        rows = list(layout.rows_of(nodes[0]))
        for row, below in zip(rows, rows[1:]):
            for one, other in zip(row.parts, below.parts):
                self.assertNotEqual(numbers[one.uid], numbers[other.uid])


class PictureTest(unittest.TestCase):
    def drawn(self, *nodes, colours=True):
        out = io.StringIO()
        with redirect_stdout(out), mock.patch.object(picture, "colours_wanted", lambda: colours):
            picture.draw({"nodes": list(nodes)}, {"a": "a", "b": "b", "k": "k"})
        return out.getvalue()

    def test_a_part_is_as_long_as_it_is_large(self):
        line = self.drawn(node(gpu(0, ("a", 250), ("b", 500))), colours=False).splitlines()[1]
        self.assertIn("▕" + "a" * 10 + "b" * 20 + "·" * 10 + "▏", line)
        line = self.drawn(node(gpu(0, ("a", 1))), colours=False)
        self.assertIn("▕a" + "·" * 39 + "▏", line)

    def test_slices_are_drawn_and_named(self):
        text = self.drawn(node(mig_gpu(0, ("3g.20gb", 4, 4, "a"), ("1g.5gb", 1, 1, ""))), colours=False)
        self.assertIn("▕" + "·" * 5 + "-" * 5 + "·" * 10 + "a" * 20 + "▏", text)
        self.assertIn("1g.5gb@1 3g.20gb@4\n", text)

    def test_colours_are_for_pods(self):
        text = self.drawn(node(gpu(0, ("a", 500), ("b", 500)), gpu(1), units=[("k", 1)]))
        painted = ESCAPE.findall(text)
        self.assertEqual([letters[0] for _, letters in painted], ["a", "b", "k"])
        self.assertEqual(len({colour for colour, _ in painted}), 3)

    def test_the_summary_is_one_line(self):
        state = {"nodes": [node(gpu(0, ("a", 100)), gpu(1, freeWhole=True), mig_gpu(2))]}
        self.assertEqual(picture.summary(state, 5, 2),
                         "5 pods placed, 2 refused; 3 GPUs: 1 in use, 1 free, 1 free in MIG mode.")


class MapTest(unittest.TestCase):
    def test_it_is_xml_with_every_pod(self):
        text = svg_map.write_map({"nodes": [
            node(gpu(0, ("a<&\"", 900)), mig_gpu(1, ("3g.20gb", 4, 4, "slice"), ("1g.5gb", 1, 1, "")), name="<n>"),
            node(gpu(0, healthy=False), gpu(1), units=[("plain", 1)])]})
        root = xml.fromstring(text)
        titles = [element.text for element in root.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(titles, ["Pods on GPUs", 'a<&"', "1g.5gb free", "slice 3g.20gb", "plain nvidia.com/gpu"])
        self.assertIn("prefers-color-scheme:dark", text)
        self.assertNotRegex(text, "href|<script|<image|@import")

    def test_that_of_the_readme_is_the_one_that_the_demo_draws(self):
        with tempfile.TemporaryDirectory(prefix="snug-map-") as folder:
            drawn = Path(folder) / "map.svg"
            done = run("/usr/bin/python3", ROOT / "deploy/demo/demo.py", "--extender", EXTENDER, "--svg", drawn)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertEqual(drawn.read_text(), (ROOT / "docs/map.svg").read_text(),
                             "draw docs/map.svg again with deploy/demo/demo.py --svg")


if __name__ == "__main__":
    unittest.main()
