"""snug-mps with --protocol=3: a namespace for each container, in daemons of the stand-in for NVIDIA's control program."""

import os
import signal
import socket
import unittest

from mps_test import FIRST, LIMIT_S, Case, alive


class NamespaceTest(Case):
    A, B = "aaaaaaaaaaaa", "bbbbbbbbbbbb"

    def start(self, *flags, prefix=()):
        return super().start("--protocol=3", *flags, prefix=prefix)

    def want_namespaces(self, *lines, uuid=FIRST):
        """As the agent writes it."""
        (self.root / "wanted.tmp").write_text("".join(f"{line}\n" for line in lines))
        (self.root / "wanted.tmp").rename(self.root / "wanted" / uuid)

    def wait_until_there(self, *lines):
        text = "\n".join(("ready", "protocol 3", *lines))
        self.wait_until(lambda: self.state() == text, text)

    def client(self, name):
        """A client in the namespace, and what limits it: pinned memory and percent of threads."""
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(client.close)
        client.connect(str(self.root / FIRST / "pipe/snug" / name / "control"))
        return client, client.recv(4096).decode().split()

    def test_each_container_has_a_namespace_with_its_limits_while_it_is_wanted(self):
        process = self.start()
        self.want_namespaces(f"{self.A} 3815 30")
        self.wait_until_there(self.A)
        first = self.daemon()
        self.assertEqual((self.root / FIRST / "devices").read_text(), FIRST)
        self.want_namespaces(f"{self.A} 3815 30", f"{self.B} 100 5")
        self.wait_until_there(self.A, self.B)
        self.assertEqual((self.client(self.A)[1], self.client("default")[1]), ([self.A, "3815M", "30"], ["default", "-", "-"]))
        client, limits = self.client(self.B)
        self.assertEqual(limits, [self.B, "100M", "5"])
        self.want_namespaces(f"{self.A} 3815 30")
        self.wait_until_there(self.A)
        self.wait_until(lambda: self.metric("snug_mps_starts_total") == 1, "one daemon")
        self.assertTrue((self.root / FIRST / "pipe/snug" / self.B / "control").exists(), "its client still runs")
        client.close()
        self.wait_until(lambda: not (self.root / FIRST / "pipe/snug" / self.B).exists(), "gone after its client")
        self.assertEqual(self.daemon(), first)
        self.want()
        self.wait_until(lambda: self.state() is None, "gone")
        self.assertEqual((alive(first), list((self.root / FIRST / "pipe").iterdir())), (False, []))
        self.end(process)

    def test_after_the_daemon_was_killed_its_namespaces_are_there_again_in_the_same_folders(self):
        process = self.start()
        self.want_namespaces(f"{self.A} 3815 30", self.B)
        self.wait_until_there(self.A, self.B)
        folder = self.root / FIRST / "pipe/snug" / self.A
        mounted = folder.stat().st_ino
        killed = self.daemon()
        os.kill(killed, signal.SIGKILL)
        self.wait_until_state("failed the MPS daemon has ended: signal 9")
        self.wait_until_there(self.A, self.B)
        self.assertNotIn(self.daemon(), (killed, None))
        self.assertEqual(folder.stat().st_ino, mounted)
        self.assertEqual((self.client(self.A)[1], self.client(self.B)[1]), ([self.A, "3815M", "30"], [self.B, "-", "-"]))
        self.end(process)

    def test_after_the_sudden_end_of_snug_mps_the_namespaces_are_adopted(self):
        killed = self.start()
        self.want_namespaces(f"{self.A} 3815 30", f"{self.B} 3815 30")
        self.wait_until_there(self.A, self.B)
        first = self.daemon()
        client, _ = self.client(self.A)
        killed.kill()
        killed.wait(LIMIT_S)
        (self.root / "state" / FIRST).unlink()
        self.want_namespaces(f"{self.A} 3815 20")
        process = self.start()
        self.wait_until_there(self.A)
        self.assertEqual((self.daemon(), self.metric("snug_mps_starts_total")), (first, 0))
        self.assertEqual(self.client(self.A)[1], [self.A, "3815M", "20"])
        client.setblocking(False)
        self.assertRaises(BlockingIOError, client.recv, 1)  # it is connected
        self.wait_until(lambda: not (self.root / FIRST / "pipe/snug" / self.B).exists(), "gone")
        self.end(process)

    def test_a_namespace_that_cannot_be_made_is_in_the_state_and_tried_again(self):
        process = self.start()
        self.want_namespaces()
        self.wait_until_there()
        self.mode("full")
        self.want_namespaces(f"{self.A} 3815 30")
        self.wait_until_there(f"{self.A} exit status 1: Too many namespaces")
        self.mode()
        self.wait_until_there(self.A)
        self.assertIn(f"the namespace {self.A} cannot be made: exit status 1: Too many namespaces", self.end(process))

    def test_a_daemon_without_its_server_is_started_anew(self):
        process = self.start()
        self.want_namespaces(f"{self.A} 3815 30")
        self.wait_until_there(self.A)
        first = self.daemon()
        self.mode("vanished")
        self.wait_until_state("failed the MPS daemon has not answered for 10 seconds")
        self.mode()
        self.wait_until_there(self.A)
        self.assertNotIn(self.daemon(), (first, None))
        self.end(process)

    def test_after_an_error_of_a_client_the_daemon_has_failed_until_all_of_its_clients_have_ended(self):
        process = self.start()
        self.want_namespaces(self.A, self.B)
        self.wait_until_there(self.A, self.B)
        faulty, innocent = self.client(self.A)[0], self.client(self.B)[0]
        faulty.send(b"fault")
        self.wait_until_state("failed the MPS server is in the state FAULT after an error of a client;")
        faulty.close()
        self.assertEqual(self.client(self.A)[1], ["CUDA_ERROR_MPS_SERVER_NOT_READY"])
        innocent.close()
        self.wait_until_there(self.A, self.B)
        self.assertEqual((self.client(self.A)[1], self.metric("snug_mps_starts_total")), ([self.A, "-", "-"], 1))
        self.end(process)

    def test_a_driver_that_does_not_know_the_protocol_is_named_in_the_state(self):
        self.mode("old")
        process = self.start()
        self.want_namespaces(f"{self.A} 3815 30")
        self.wait_until_state("failed the MPS daemon has ended: exit status 1; see its log; --protocol=3 of snug-mps needs the driver 615")
        self.end(process)

    def test_an_agent_that_knows_no_namespaces_gets_none(self):
        """The agent does not take the state for one, and starts no container."""
        process = self.start()
        self.want(FIRST)
        self.wait_until_there()
        self.end(process)


if __name__ == "__main__":
    unittest.main()
