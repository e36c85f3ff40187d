"""The messages of snug-extender and other programs when they start, and when they cannot start."""

import re
import signal
import socket
import tempfile
import unittest
from pathlib import Path

from programs import AGENT, CLUSTER, EXTENDER, GATE, admin_url, agent_command, fetch, run, start, start_extender


class StartTest(unittest.TestCase):
    def test_a_good_start_says_what_runs_and_when_it_is_ready(self):
        process, _ = start_extender(self)
        self.assertRegex(process.stderr.readline(),
                         r"snug-extender \d+\.\d+\.\d+ starts: answer auto, policy tight, embedded mode$")
        self.assertRegex(process.stderr.readline(), r"ready: ")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 0)

    def test_a_port_that_others_reach_without_a_certificate_is_warned_of(self):
        process = start(self, EXTENDER, "--cluster", CLUSTER, "--listen", "0.0.0.0:0", "--admin-listen", "127.0.0.1:0")
        process.stderr.readline()
        self.assertRegex(process.stderr.readline(),
                         r"warn.* the extender port 0\.0\.0\.0:\d+ is not on the loopback interface and requires no "
                         r"client certificate: any client that can reach it can bind pods; ")

    def test_every_thread_has_a_name_of_its_work(self):
        process, admin = start_extender(self)
        fetch(admin + "/v1/nodes")
        names = {thread.name: (thread / "comm").read_text().strip()
                 for thread in Path(f"/proc/{process.pid}/task").iterdir()}
        self.assertEqual(names.pop(str(process.pid)), "snug-extender")
        # A thread without a name of its own has the program's.
        self.assertLessEqual({"snug-accept", "snug-admin", "snug-ledger"}, set(names.values()))
        self.assertNotIn("snug-extender", names.values())

    def test_without_a_cluster_it_says_what_to_name(self):
        ended = run(EXTENDER, KUBERNETES_SERVICE_HOST="", KUBERNETES_SERVICE_PORT="")
        self.assertEqual(ended.returncode, 2)
        self.assertTrue(re.search("give --kubeconfig FILE, or --cluster FILE for the embedded mode", ended.stdout),
                        ended.stdout)

    def test_outside_of_a_pod_the_agent_names_its_own_flag(self):
        ended = run(AGENT, "--node-name=n1", KUBERNETES_SERVICE_HOST="", KUBERNETES_SERVICE_PORT="")
        self.assertTrue(re.search("this is not a pod; give --kubeconfig FILE$", ended.stdout, re.M), ended.stdout)

    def test_flags_of_the_gate(self):
        asked = run(GATE, "--help")
        self.assertEqual((asked.returncode, "--install=FOLDER" in asked.stdout), (0, True), asked.stdout)
        for words, said in ((["--hepl"], "unknown flag --hepl; see --help"), (["--install=/x", "y"], "unknown flag y; see --help"),
                            (["--install="], "--install= names no folder; see --help"),
                            ([], "the container runtime starts this program; see --help")):
            ended = run(GATE, *words)
            self.assertEqual((ended.returncode, ended.stdout), (2, f"snug-gate: {said}\n"))

    def test_an_agent_waits_for_the_port_of_the_one_that_it_replaces(self):
        with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            process = start(self, *agent_command(folder, f"127.0.0.1:{port}"))
            self.assertRegex(process.stderr.readline(),
                             f"cannot listen on 127.0.0.1:{port}: Address already in use; the agent tries again for 5 s")
            taken.close()
            self.assertEqual(admin_url(self, process), f"http://127.0.0.1:{port}")

    def test_an_agent_ends_if_its_port_stays_in_use(self):
        with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as taken:
            ended = run(*agent_command(folder, f"127.0.0.1:{taken.getsockname()[1]}"))
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stdout.splitlines()[-1],
                         r"^snug-agent: cannot listen on 127\.0\.0\.1:\d+: Address already in use$")


if __name__ == "__main__":
    unittest.main()
