"""snugctl mig as people run it, and docs/reference/mig-cards.md: its commands print what the page says."""

import json
import re
import shlex
import unittest

from programs import ROOT, SNUGCTL, run

PAGE = ROOT / "docs/reference/mig-cards.md"


def mig(*words):
    return run(SNUGCTL, "mig", *words)


class PageTest(unittest.TestCase):
    def test_each_command_prints_what_stands_below_it(self):
        text = PAGE.read_text(encoding="utf-8")
        shown = re.findall(r"^```sh\n([^\n]*)\n```\n```text\n(.*?)^```$", text, re.M | re.S)
        self.assertEqual(4 * len(shown), text.count("```"), "each block is a command or what it prints")
        self.assertGreaterEqual(len(shown), 3)
        for command, output in shown:
            with self.subTest(command):
                program, *words = shlex.split(command)
                self.assertEqual(program, "snugctl")
                done = run(SNUGCTL, *words)
                self.assertEqual((done.returncode, done.stdout), (0, output))


class MigTest(unittest.TestCase):
    CARDS = ["A30", "A100-40GB", "A100-80GB", "H100-80GB", "H100-94GB", "H100-96GB", "H200-141GB", "GH200-144GB",
             "B200", "GB200", "B300", "GB300", "RTX-PRO-6000", "RTX-PRO-5000", "RTX-PRO-4500"]

    def test_without_a_model_the_cards_are_listed(self):
        done = mig()
        self.assertEqual(done.returncode, 0)
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()], ["card", *self.CARDS])
        self.assertEqual([card["card"] for card in json.loads(mig("--json").stdout)], self.CARDS)

    def test_every_card_is_drawn_to_its_axis(self):
        for card in self.CARDS:
            for flags in ([], ["--all"]):
                with self.subTest(card, flags=flags):
                    picture = mig(card, *flags)
                    self.assertEqual(picture.returncode, 0, picture.stdout)
                    written = json.loads(mig(card, *flags, "--json").stdout)
                    self.check_picture(picture.stdout, written)

    def check_picture(self, text, written):
        """Each line says what the JSON does: the slices in their order, and a dot for each other memory slice."""
        said, _, layouts = text.partition(" to which no slice can be added; a dot is a memory slice left over\n\n")
        self.assertEqual(int(said.splitlines()[-1].split()[0]), len(written["layouts"]))
        axis, *lines = layouts.splitlines()
        self.assertEqual(axis.split(), [str(at) for at in range(written["axis"])])
        self.assertEqual(len(lines), len(written["layouts"]))
        for line, layout in zip(lines, written["layouts"]):
            self.assertEqual(re.findall(r"\[ *(\S+?) *\]", line), [slice["profile"] for slice in layout])
            left = written["axis"] - sum(slice["size"] for slice in layout)
            self.assertEqual(len(re.findall(r"(?:^|[\] .]) *\.(?= |$)", line)), left, line)
            self.assertLessEqual(len(line), 120)

    def test_layouts_of_all_profiles_are_more(self):
        rows = [("A100-40GB", 78, 239), ("A30", 5, None), ("RTX-PRO-6000", None, 302)]
        for card, plain, every in rows:
            for count, flags in ((plain, []), (every, ["--all"])):
                if count is not None:
                    self.assertEqual(len(json.loads(mig(card, *flags, "--json").stdout)["layouts"]), count, card)

    def test_a_nodes_name_for_the_card_will_do(self):
        for words in (["NVIDIA-A100-SXM4-40GB"], ["nvidia a100-sxm4-40gb"], ["NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"],
                      ["A100", "40GB"], ["NVIDIA", "A100", "40GB", "PCIe"]):
            self.assertEqual(mig(*words).stdout, mig("A100-40GB").stdout, words)

    def test_what_is_no_card_is_an_error_that_names_those_there_are(self):
        cards = f"{', '.join(self.CARDS[:-1])} and {self.CARDS[-1]}"
        rtx = "may be RTX-PRO-6000, RTX-PRO-5000 or RTX-PRO-4500; say which"
        rows = [
            (["RTX PRO"], f'"RTX PRO" {rtx}'),
            (["RTX-PRO"], f'"RTX-PRO" {rtx}'),
            (["RTX", "PRO"], f'"RTX PRO" {rtx}'),
            (["A30", "A100-40GB"], f'no card called "A30 A100-40GB" is known to have MIG; the known cards are {cards}'),
            (["A30", "--json", "-"], '"-" is an unexpected argument; --json takes no file and writes to stdout'),
            (["A100"], '"A100" may be A100-40GB or A100-80GB; say which'),
            (["H100"], '"H100" may be H100-80GB, H100-94GB or H100-96GB; say which'),
            (["T4"], f'no card called "T4" is known to have MIG; the known cards are {cards}'),
            ([""], f'no card called "" is known to have MIG; the known cards are {cards}'),
            (["x\ny"], f'no card called "x?y" is known to have MIG; the known cards are {cards}'),
            (["--all"], "--all requires MODEL, which is missing"),
        ]
        for words, said in rows:
            with self.subTest(words):
                done = mig(*words)
                self.assertEqual((done.returncode, done.stdout), (2, f"snugctl: {said}\n"))
        self.assertEqual(mig("A" * 100_000).returncode, 2)

    def test_bad_flags_are_refused(self):
        for words in (["--no-such"], ["A30", "--no-such"]):
            done = mig(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertRegex(done.stdout, r"^snugctl: .*; see --help\n$")
        self.assertIn("MODEL", mig("--help").stdout)

    def test_an_output_that_cannot_be_written_is_an_error(self):
        done = run("bash", "-c", f"'{SNUGCTL}' mig A30 > /dev/full")
        self.assertEqual(done.returncode, 1)
        self.assertIn("snugctl: stdout: cannot be written: ", done.stdout)


if __name__ == "__main__":
    unittest.main()
