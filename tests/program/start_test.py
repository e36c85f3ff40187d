"""The messages of snug-extender when it starts, and when it cannot start."""

import re
import signal
import unittest
from pathlib import Path

from programs import CLUSTER, EXTENDER, fetch, run, start, start_extender


class StartTest(unittest.TestCase):
    def test_a_good_start_says_what_runs_and_when_it_is_ready(self):
        process, _ = start_extender(self)
        self.assertRegex(process.stderr.readline(),
                         r"snug-extender \d+\.\d+\.\d+ starts: answer auto, policy tight, embedded mode$")
        self.assertRegex(process.stderr.readline(), r"ready: ")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(10), 0)

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


if __name__ == "__main__":
    unittest.main()
