"""The completion of command lines in the shells, the manual pages, and the files that an installation has. That kubectl
completes its plug-in is in tests/e2e."""

import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from programs import BUILD, SNUGCTL, run
from terminal import Terminal

PLUGIN = BUILD / "kubectl-snug"
COMPLETER = BUILD / "kubectl_complete-snug"
PATH = {"PATH": f"{BUILD}:/usr/bin:/bin"}


def need(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


def completed(*words, program=(SNUGCTL, "__complete")):
    """The words that complete the last of these, and whether names of files do."""
    done = run(*program, *words)
    *lines, directive = done.stdout.splitlines()
    return [line.split("\t")[0] for line in lines], {":0": True, ":4": False}[directive]


def commands_below(*command):
    """Every command with its subcommands, as tuples of words."""
    yield command
    section = run(SNUGCTL, *command, "--help").stdout.partition("\nSubcommands:\n")[2]
    for name in re.findall(r"^  ([a-z]+)", section.partition("\n\n")[0], re.M):
        yield from commands_below(*command, name)


class WordsTest(unittest.TestCase):
    def test_what_may_follow(self):
        shells = ["bash", "zsh", "fish"]
        views = ["nodes", "gpus", "pods", "namespaces", "cluster"]
        for words, expected, files in (
                (["to"], ["top"], False), (["no-such"], [], False), (["top", ""], views, False),
                (["top", "p"], ["pods"], False), (["top", "n1", "p"], [], False), (["top", "pods", "--outp"], ["--output"], False),
                (["top", "-o", ""], ["wide", "json", "yaml", "name"], False), (["top", "-o", "j"], ["json"], False),
                (["top", "--output=j"], ["--output=json"], False), (["top", "pods", "-o", "n"], ["name"], False),
                (["top", "-n", ""], [], False), (["top", "-n", "pods", "cl"], ["cluster"], False),
                (["top", "--watch", "cl"], ["cluster"], False), (["top", "--", "--w"], [], False),
                (["top", "--color", "a"], ["auto", "always"], False), (["completion", ""], shells, False),
                (["completion", "bash", ""], [], False), (["policy", ""], ["check"], False),
                (["policy", "check", ""], [], True), (["policy", "check", "--config", ""], [], True),
                (["policy", "check", "--config=x", "--con"], ["--config"], False), (["top", "--kubeconfig", ""], [], True)):
            for program in ((SNUGCTL, "__complete"), (COMPLETER,)):
                self.assertEqual(completed(*words, program=program), (expected, files), words)

    def test_every_command_and_flag_is_completed(self):
        found = list(commands_below())
        self.assertIn(("policy", "check"), found)
        for command in found:
            shown = set(re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", run(SNUGCTL, *command, "--help").stdout, re.M))
            self.assertLessEqual(shown, set(completed(*command, "--")[0]), command)
            if command:
                self.assertIn(command[-1], completed(*command)[0])


class OtherNamesTest(unittest.TestCase):
    def test_another_name_of_a_command_has_its_flags(self):
        self.assertEqual(completed("top", "pod", "--sort")[0], completed("top", "pods", "--sort")[0])
        self.assertIn("--sort-by", completed("top", "pod", "--sort")[0])


class ShellTest(unittest.TestCase):
    """Each shell reads its script, and completes what is typed."""

    def type_in(self, shell, prompt, keys, wanted):
        folder = tempfile.TemporaryDirectory(prefix="snug-shell-")
        self.addCleanup(folder.cleanup)
        terminal = Terminal(self, shell, (200, 40), {**PATH, "HOME": folder.name, "LC_ALL": "C.UTF-8"})
        terminal.press(prompt.encode() + b"; echo REA''DY\n")
        terminal.read_until("READY")
        terminal.press(keys.encode() + b"\t")
        terminal.read_until(wanted)

    @need("bash")
    def test_bash(self):
        read = "PS1='> '; source <(snugctl completion bash)"
        for keys, wanted in (("snugctl top --outp", "snugctl top --output "), ("snugctl top --output=js", "--output=json "),
                             ("snugctl top -o ya", "snugctl top -o yaml "), ("snugctl policy check CMakeL", "CMakeLists.txt ")):
            with self.subTest(keys):
                self.type_in(["bash", "--norc", "-i"], read, keys, wanted)

    @need("zsh")
    def test_zsh(self):
        read = "PS1='> '; autoload -U compinit; compinit -u -D; source <(snugctl completion zsh)"
        for keys, wanted in (("snugctl top --outp", "--output"), ("snugctl top -o ya", "yaml"),
                             ("snugctl policy check CMakeL", "CMakeLists.txt")):
            with self.subTest(keys):
                # zsh draws only what it adds to the line.
                self.type_in(["zsh", "-f", "-i"], read, keys, wanted[-4:])

    @need("fish")
    def test_fish(self):
        for line, wanted in (("snugctl top --outp", ["--output"]), ("snugctl top -o ya", ["yaml"]), ("snugctl to", ["top"]),
                             ("snugctl policy check CMakeL", ["CMakeLists.txt"]), ("snugctl top -o CMakeL", [])):
            done = run("fish", "--no-config", "-c", f"snugctl completion fish | source; complete -C '{line}'", **PATH)
            self.assertEqual([each.split("\t")[0] for each in done.stdout.splitlines()], wanted)

    def test_there_is_a_script_for_three_shells(self):
        done = run(SNUGCTL, "completion", "tcsh")
        self.assertEqual((done.returncode, done.stdout),
                         (2, 'snugctl: shell: must be one of bash|zsh|fish, not "tcsh"; see --help\n'))
        self.assertIn("complete -F _kubectl-snug kubectl-snug", run(PLUGIN, "completion", "bash").stdout)


class NamesTest(unittest.TestCase):
    def test_help_and_errors_name_the_program_as_it_was_started(self):
        self.assertIn("Usage: kubectl snug top ", run(PLUGIN, "top", "--help").stdout)
        self.assertIn("Usage: snugctl top ", run(SNUGCTL, "top", "--help").stdout)
        self.assertRegex(run(PLUGIN, "--version").stdout, r"^kubectl snug \d")
        self.assertRegex(run(PLUGIN, "no-such").stdout, r'^kubectl snug: unknown command "no-such"; ')

    def test_there_is_no_help_on_what_there_is_not(self):
        for words, said in ((["no-such", "--help"], 'unknown command "no-such"; expected one of '),
                            (["policy", "no-such", "--help"], 'unknown command "no-such"; expected check'),
                            (["top", "--no-such", "--help"], "unknown flag --no-such")):
            done = run(SNUGCTL, *words)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertTrue(done.stdout.startswith(f"snugctl: {said}"), done.stdout)


class ManTest(unittest.TestCase):
    def page(self, program):
        file = tempfile.NamedTemporaryFile("w", suffix=".1")
        self.addCleanup(file.close)
        file.write(run(program, "man").stdout)
        file.flush()
        return file

    @need("mandoc")
    def test_the_pages_are_without_mistake(self):
        for program in (SNUGCTL, PLUGIN):
            done = run("mandoc", "-Tlint", "-Wwarning", self.page(program).name)
            said = [line for line in done.stdout.splitlines() if "missing date" not in line]
            self.assertEqual(said, [])

    def test_the_page_has_every_command_and_flag(self):
        text = run(SNUGCTL, "man").stdout.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "")
        for command in commands_below():
            if command:
                self.assertIn(f".SS snugctl {' '.join(command)}\n", text)
            for flag in re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", run(SNUGCTL, *command, "--help").stdout, re.M):
                if flag not in ("--help", "--version"):
                    self.assertIn(flag, text)
        self.assertIn("http://127.0.0.1:8889", text)


class InstallationTest(unittest.TestCase):
    def test_it_has_the_plugin_the_pages_and_the_scripts(self):
        with tempfile.TemporaryDirectory(prefix="snug-install-") as folder:
            done = run("cmake", "--install", BUILD, "--prefix", folder)
            self.assertEqual(done.returncode, 0, done.stdout)
            top = Path(folder)
            for name, sort in (("kubectl-snug", "kubectl snug"), ("snugctl", "snugctl")):
                self.assertTrue(run(top / "bin" / name, "--version").stdout.startswith(sort))
                self.assertEqual((top / f"share/man/man1/{name}.1").read_text(), run(BUILD / name, "man").stdout)
            self.assertEqual(completed("to", program=(top / "bin/kubectl_complete-snug",)), (["top"], False))
            for name, shell in (("bash-completion/completions/snugctl", "bash"), ("zsh/site-functions/_snugctl", "zsh"),
                                ("fish/vendor_completions.d/snugctl.fish", "fish")):
                self.assertEqual((top / "share" / name).read_text(), run(SNUGCTL, "completion", shell).stdout)
            self.assertEqual(os.readlink(top / "bin/kubectl-snug"), "snugctl")


if __name__ == "__main__":
    unittest.main()
