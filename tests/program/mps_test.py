"""snug-mps with daemons: those of the stand-in for NVIDIA's control program, and NVIDIA's own where it can be had."""

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from mps_programs import STANDIN, nvidia_control
from programs import MPS, run, start

FIRST = "GPU-00000000-1111-2222-3333-444444444444"
SECOND = "GPU-00000001-1111-2222-3333-444444444444"
LIMIT_S = 60
# Puts its own socket in the place of argv[1].
IMPOSTOR = """
import os, signal, socket, sys
path, kind = sys.argv[1], getattr(socket, sys.argv[2])
listener = socket.socket(socket.AF_UNIX, kind)
listener.bind(path + ".new")
listener.listen()
os.rename(path + ".new", path)
print("listens", flush=True)
signal.pause()
"""


def alive(pid):
    """Whether it runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Case(unittest.TestCase):
    """A folder, and functions that look into it."""

    control = STANDIN

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="snug-mps-")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name, "root")
        (self.root / "wanted").mkdir(parents=True)
        self.addCleanup(self.end_daemons)

    def end_daemons(self):
        for uuid in (FIRST, SECOND):
            pid = self.daemon(uuid)
            if pid:
                os.killpg(pid, signal.SIGKILL)

    def start(self, *flags, prefix=()):
        process = start(self, *prefix, MPS, f"--root={self.root}", f"--control-program={self.control}",
                        "--listen=127.0.0.1:0", *flags)
        line = process.stdout.readline()
        match = re.fullmatch(r"listening admin=(\S+)\n", line)
        self.assertTrue(match, line or process.stderr.read())
        self.admin = f"http://{match[1]}"
        return process

    def end(self, process):
        """Its log."""
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=LIMIT_S)
        self.assertEqual(process.returncode, 0)
        return log

    def want(self, *uuids):
        for file in (self.root / "wanted").iterdir():
            file.unlink()
        for uuid in uuids:
            (self.root / "wanted" / uuid).touch()

    def mode(self, *words, uuid=FIRST):
        (self.root / uuid).mkdir(exist_ok=True)
        (self.root / uuid / "mode").write_text(" ".join(words))

    def state(self, uuid=FIRST):
        """None: there is none."""
        try:
            return (self.root / "state" / uuid).read_text()
        except FileNotFoundError:
            return None

    def daemon(self, uuid=FIRST):
        """The process that listens on the daemon's socket; None: none."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            try:
                client.connect(str(self.root / uuid / "pipe/control"))
            except OSError:
                return None
            return struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]

    def wait_until(self, condition, what, limit_s=LIMIT_S):
        """The value of the condition, when it is true."""
        last = time.monotonic() + limit_s
        while not (value := condition()):
            self.assertLess(time.monotonic(), last, f"not within {limit_s} s: {what}; state {self.state()}")
            time.sleep(0.02)
        return value

    def wait_until_state(self, text, uuid=FIRST, limit_s=LIMIT_S):
        self.wait_until(lambda: (self.state(uuid) or "").startswith(text), text, limit_s)

    def ready_daemon(self, uuid=FIRST):
        self.wait_until_state("ready", uuid)
        return self.daemon(uuid)

    def metric(self, name):
        with urllib.request.urlopen(f"{self.admin}/metrics", timeout=10) as answer:
            return int(re.search(rf"^{re.escape(name)} (\d+)$", answer.read().decode(), re.M)[1])


class EachProgramTests:
    """What holds for the stand-in as for NVIDIA's program."""

    def ask(self, command):
        pipes = self.root / FIRST / "pipe"
        done = subprocess.run([self.control], input=f"{command}\n", text=True, capture_output=True, check=False,
                              timeout=LIMIT_S, env={"PATH": "/usr/bin:/bin", "CUDA_MPS_PIPE_DIRECTORY": str(pipes)})
        return done.returncode, done.stdout.strip()

    def test_wanted_daemons_are_ready_and_others_are_gone(self):
        process = self.start()
        self.want(FIRST, SECOND)
        first, second = self.ready_daemon(FIRST), self.ready_daemon(SECOND)
        self.assertEqual(len({first, second, None}), 3)
        self.want(SECOND)
        self.wait_until(lambda: self.state(FIRST) is None, "gone")
        self.assertFalse(alive(first))
        self.assertEqual(list((self.root / FIRST / "pipe").iterdir()), [])
        self.assertEqual((self.state(SECOND), self.daemon(SECOND)), ("ready", second))
        self.want(FIRST, SECOND)
        self.assertNotIn(self.ready_daemon(FIRST), (first, None))
        self.end(process)

    def test_a_killed_daemon_has_failed_and_comes_again(self):
        process = self.start()
        self.want(FIRST)
        killed = self.ready_daemon()
        os.kill(killed, signal.SIGKILL)
        self.wait_until_state("failed the MPS daemon has ended: signal 9")
        self.assertNotIn(self.ready_daemon(), (killed, None))
        self.assertEqual((self.metric("snug_mps_failures_total"), self.metric("snug_mps_starts_total"),
                          self.metric('snug_mps_daemons{phase="ready"}')), (1, 2, 1))
        self.end(process)

    def test_a_daemon_that_hangs_is_started_anew(self):
        process = self.start()
        self.want(FIRST)
        hung = self.ready_daemon()
        os.kill(hung, signal.SIGSTOP)
        self.wait_until_state("failed the MPS daemon has not answered for 10 seconds")
        self.assertNotIn(self.ready_daemon(), (hung, None))
        self.assertFalse(alive(hung))
        self.end(process)

    def test_its_end_ends_all_daemons(self):
        process = self.start()
        self.want(FIRST, SECOND)
        daemons = [self.ready_daemon(uuid) for uuid in (FIRST, SECOND)]
        self.assertNotIn("signal", self.end(process))
        self.assertEqual([alive(pid) for pid in daemons], [False, False])
        self.assertEqual(list((self.root / "state").iterdir()), [])

    def test_after_its_sudden_end_the_daemons_are_adopted(self):
        killed = self.start()
        self.want(FIRST, SECOND)
        first, second = self.ready_daemon(FIRST), self.ready_daemon(SECOND)
        killed.kill()
        killed.wait(LIMIT_S)
        self.want(FIRST)
        process = self.start()
        self.wait_until(lambda: self.state(SECOND) is None, "the daemon that is no longer wanted is gone")
        self.assertEqual((self.ready_daemon(FIRST), self.metric("snug_mps_starts_total")), (first, 0))
        self.assertFalse(alive(second))
        os.kill(first, signal.SIGKILL)
        self.wait_until_state("failed the MPS daemon has ended: it was started by an earlier snug-mps")
        self.assertNotIn(self.ready_daemon(), (first, None))
        self.end(process)

    def test_after_the_sudden_end_of_all_of_them_there_is_one_daemon_again(self):
        """As in a container, whose processes end with the first one."""
        killed = self.start()
        self.want(FIRST)
        first = self.ready_daemon()
        killed.kill()
        os.killpg(first, signal.SIGKILL)
        self.wait_until(lambda: not alive(first), "ended")
        self.want(SECOND)
        process = self.start()
        self.ready_daemon(SECOND)
        self.assertEqual((self.state(FIRST), list((self.root / FIRST / "pipe").iterdir())), (None, []))
        self.end(process)

    def test_the_program_behaves_as_snug_mps_expects(self):
        self.assertEqual(self.ask("get_server_list"), (1, ""))
        process = self.start()
        self.want(FIRST)
        first = self.ready_daemon()
        self.assertEqual(self.ask("get_default_active_thread_percentage"), (0, "100.0"))
        self.assertEqual(self.ask("get_server_list"), (0, ""))
        self.assertEqual(self.ask("get_default_active_thread_percentage\nget_server_list"), (0, "100.0"))
        self.assertEqual(self.ask("no_such_command"), (0, 'Unknown command "no_such_command"'))
        # Driver 535 does not know it; 550 does.
        self.assertIn(self.ask("get_server_status 1"), ((0, "Server 1 not found"), (0, 'Unknown command "get_server_status"')))
        pipes = self.root / FIRST / "pipe"
        second = run(self.control, "-f", CUDA_MPS_PIPE_DIRECTORY=str(pipes), CUDA_MPS_LOG_DIRECTORY=f"{pipes.parent}/log")
        self.assertEqual((second.returncode, second.stdout.strip()), (1, "An instance of this daemon is already running"))
        self.assertEqual((pipes / "control").stat().st_mode & 0o777, 0o666)
        self.assertIn("Starting control daemon using socket", (pipes.parent / "log/control.log").read_text())
        self.assertEqual(self.ask("quit -t 5")[0], 0)
        self.wait_until(lambda: not alive(first), "ended")
        self.end(process)


class StandinTest(EachProgramTests, Case):
    def test_the_daemon_sees_its_gpu_alone(self):
        process = self.start()
        self.want(FIRST)
        self.ready_daemon()
        self.assertEqual((self.root / FIRST / "devices").read_text(), FIRST)
        self.end(process)

    def test_one_that_ignores_quit_and_sigterm_is_killed_with_its_server(self):
        self.mode("stubborn", "server")
        process = self.start()
        self.want(FIRST)
        first = self.ready_daemon()
        server = int((self.root / FIRST / "server").read_text())
        self.assertTrue(alive(server))
        self.want()
        self.wait_until(lambda: self.state() is None, "gone")
        self.wait_until(lambda: not alive(server), "the server has ended")
        self.assertFalse(alive(first))
        self.assertRegex(self.end(process), r"(?s)asked to quit.*signal 15.*signal 9")

    def test_one_that_dies_at_once_is_tried_again_and_again(self):
        self.mode("die")
        process = self.start()
        self.want(FIRST)
        self.wait_until_state("failed the MPS daemon has ended: exit status 3")
        self.wait_until(lambda: self.metric("snug_mps_starts_total") == 3, "two further starts")
        self.mode()
        self.ready_daemon()
        self.end(process)

    def test_one_that_answers_nothing_is_never_ready(self):
        self.mode("mute")
        process = self.start()
        self.want(FIRST)
        self.wait_until(lambda: self.state() == "starting" and self.daemon(), "it runs")
        first = self.daemon()
        self.wait_until_state("failed the MPS daemon has not answered for 30 seconds")
        self.mode()
        self.assertNotIn(self.ready_daemon(), (first, None))
        self.end(process)

    def client(self):
        """A client of the daemon's server, and what it is told."""
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(client.close)
        client.connect(str(self.root / FIRST / "pipe/control"))
        client.send(b"client")
        return client, client.recv(4096).decode()

    def test_after_an_error_of_a_client_the_daemon_has_failed_until_all_of_its_clients_have_ended(self):
        process = self.start()
        self.want(FIRST)
        first = self.ready_daemon()
        faulty, innocent = self.client()[0], self.client()[0]
        faulty.send(b"fault")
        self.wait_until_state("failed the MPS server is in the state FAULT after an error of a client;")
        faulty.close()
        self.assertEqual(self.client()[1], "CUDA_ERROR_MPS_SERVER_NOT_READY")
        innocent.close()
        self.assertEqual(self.ready_daemon(), first)
        self.assertEqual(self.client()[1], "client")
        self.assertEqual((self.metric("snug_mps_failures_total"), self.metric("snug_mps_starts_total")), (0, 1))
        self.end(process)

    def test_a_daemon_that_a_client_blocks_for_a_minute_after_its_error_is_started_anew(self):
        process = self.start()
        self.want(FIRST)
        first = self.ready_daemon()
        faulty, _ = self.client()
        faulty.send(b"fault")
        self.wait_until_state("failed the MPS server was in the state FAULT for 60 seconds", limit_s=2 * LIMIT_S)
        self.assertNotIn(self.ready_daemon(), (first, None))
        self.assertEqual((faulty.recv(1), self.client()[1]), (b"", "client"))
        self.assertEqual((self.metric("snug_mps_failures_total"), self.metric("snug_mps_starts_total")), (1, 2))
        self.assertRegex(self.end(process), "(?s)the MPS daemon is asked to quit.*the MPS daemon is started")

    def impostor(self, *prefix, kind="SOCK_SEQPACKET"):
        """A process with a socket in the place of the daemon's."""
        pipes = self.root / FIRST / "pipe"
        pipes.mkdir(parents=True, exist_ok=True)
        process = start(self, "setsid", *prefix, sys.executable, "-c", IMPOSTOR, pipes / "control", kind)
        self.addCleanup(process.kill)  # unshare ignores SIGTERM
        self.assertEqual(process.stdout.readline(), "listens\n", process.stderr)
        return process

    def test_a_socket_of_another_container_in_the_place_of_the_daemons_keeps_none_from_its_clients(self):
        """As root in a container that is a client can put it there."""
        prefix = ("unshare", "--pid", "--fork", "--kill-child")
        if run(*prefix, "true").returncode != 0:
            self.skipTest("this user cannot have processes of another container")
        process = self.start()
        self.want(FIRST)
        first = self.ready_daemon()
        impostor = self.impostor(*prefix)
        self.assertNotEqual(self.daemon(), first)
        self.wait_until_state("failed the MPS daemon has not answered for 10 seconds")
        self.assertNotIn(self.ready_daemon(), (first, impostor.pid, None))
        self.assertFalse(alive(first))
        self.assertIsNone(impostor.poll())
        self.end(process)

    def test_a_listener_that_is_no_daemon_is_neither_adopted_nor_killed(self):
        for kind in ("SOCK_SEQPACKET", "SOCK_STREAM"):
            with self.subTest(kind):
                impostor = self.impostor(kind=kind)
                process = self.start()
                self.want(FIRST)
                self.assertNotIn(self.ready_daemon(), (impostor.pid, None))
                self.assertNotIn("adopted", self.end(process))
                self.assertIsNone(impostor.poll())

    def test_names_that_are_no_gpus_are_ignored_with_a_line(self):
        process = self.start()
        wanted = self.root / "wanted"
        for name in ("..x", "GPU-" + "a" * 200, "x"):
            (wanted / name).touch()
        (wanted / "GPU-folder").mkdir()
        (wanted / "GPU-link").symlink_to("/etc/hostname")
        (wanted / FIRST).touch()
        self.ready_daemon()
        log = self.end(process)
        self.assertEqual(len(re.findall(r"is ignored: it is no uuid of a GPU", log)), 3, log)
        self.assertEqual(len(re.findall(r"is ignored: it is no regular file", log)), 2, log)
        self.assertEqual(sorted(path.name for path in self.root.iterdir()), [FIRST, "shm", "state", "wanted"])

    def test_a_missing_control_program_is_a_state_and_may_come_later(self):
        link = self.root.parent / "control"
        self.control = link
        process = self.start()
        self.want(FIRST)
        self.wait_until_state(f"failed {link}: it cannot be executed: No such file or directory")
        link.symlink_to(STANDIN)
        self.ready_daemon()
        self.end(process)

    def test_without_a_driver_the_state_says_so(self):
        process = start(self, MPS, f"--root={self.root}", f"--driver-root={self.root}", "--listen=127.0.0.1:0")
        process.stdout.readline()
        self.want(FIRST)
        self.wait_until_state("failed nvidia-cuda-mps-control is neither in /usr/bin nor in /bin below ")
        self.end(process)

    def test_a_root_that_cannot_be_written_is_an_error(self):
        for root, code, said in (("/proc/none", 1, "/proc/none: is no folder, and cannot be made one"),
                                 ("none", 2, "--root must be an absolute path")):
            done = run(MPS, f"--root={root}", "--listen=127.0.0.1:0")
            self.assertEqual(done.returncode, code, done.stdout)
            self.assertIn(f"snug-mps: {said}", done.stdout)

    def test_below_the_drivers_root_the_daemons_share_a_memory_that_is_not_that_of_the_host(self):
        """With the root folder mounted at another place, as deploy/mps.yaml has it."""
        if run("unshare", "--mount", "true").returncode != 0:
            self.skipTest("this user cannot mount")
        for uuid in (FIRST, SECOND):
            self.mode("shm", uuid=uuid)
        host = self.root.parent / "host"
        host.mkdir()
        process = self.start(f"--driver-root={host}", "--shared-memory-mib=3",
                             prefix=("unshare", "--mount", "sh", "-c", 'mount --rbind / "$0" && exec "$@"', host))
        self.want(FIRST, SECOND)
        daemons = [self.ready_daemon(uuid) for uuid in (FIRST, SECOND)]
        for where in (f"/proc/{process.pid}/root{self.root}/shm", f"/proc/{daemons[1]}/root/dev/shm"):
            self.assertEqual(sorted(path.name for path in Path(where).iterdir()),
                             sorted(f"mps-standin-{pid}" for pid in daemons))
            self.assertEqual(os.statvfs(where).f_blocks * os.statvfs(where).f_frsize, 3 << 20)
        self.assertEqual({os.readlink(f"/proc/{pid}/root") for pid in daemons}, {str(host)})
        self.assertFalse(any(Path(f"/dev/shm/mps-standin-{pid}").exists() for pid in daemons))
        self.end(process)

    def test_after_the_contents_of_its_root_were_removed_it_recovers_without_the_agent(self):
        process = self.start()
        self.want(FIRST, SECOND)
        daemons = [self.ready_daemon(uuid) for uuid in (FIRST, SECOND)]
        removed = self.root.parent / "removed"
        removed.mkdir()
        for path in list(self.root.iterdir()):
            path.rename(removed / path.name)
        self.wait_until(lambda: self.daemon(FIRST) and self.daemon(SECOND), "there are daemons again")
        self.assertNotIn(self.ready_daemon(FIRST), (*daemons, None))
        self.assertNotIn(self.ready_daemon(SECOND), (*daemons, None))
        self.assertEqual([alive(pid) for pid in daemons], [False, False])
        self.assertEqual(sorted(path.name for path in self.root.iterdir()), [FIRST, SECOND, "shm", "state", "wanted"])
        self.end(process)

    def test_when_its_root_is_removed_file_by_file_no_daemon_is_forgotten(self):
        process = self.start()
        wanted = self.root / "wanted"
        for _ in range(5):  # until it was done within the second after which daemons that nobody wants are ended
            self.want(FIRST, SECOND)
            daemons = [self.ready_daemon(uuid) for uuid in (FIRST, SECOND)]
            begin = time.monotonic()
            for path in list(wanted.iterdir()):
                path.unlink()
            (wanted / "mark").touch()
            log = ""
            while "is ignored" not in log:  # it has looked
                log += process.stderr.readline()
            (wanted / "mark").unlink()
            wanted.rmdir()
            self.wait_until(wanted.exists, "made again")
            if time.monotonic() - begin < 0.9:
                break
        self.assertEqual([self.ready_daemon(uuid) for uuid in (FIRST, SECOND)], daemons)
        # What comes before is of an attempt that took too long.
        self.assertNotIn("asked to quit", log.rpartition("the MPS daemon is started")[2])
        self.end(process)

    def test_it_says_why_it_is_not_ready(self):
        process = self.start()

        def ready():
            try:
                with urllib.request.urlopen(f"{self.admin}/readyz", timeout=10) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, error.read().decode()
        self.wait_until(lambda: ready() == (200, "ok\n"), "ready")

        def replace_by_a_file():
            """snug-mps makes the folder anew as soon as it sees that it is gone."""
            try:
                (self.root / "wanted").rmdir()
                (self.root / "wanted").touch(exist_ok=False)
                return True
            except FileExistsError:
                return False
        self.wait_until(replace_by_a_file, "replaced")
        self.wait_until(lambda: ready()[0] == 503, "not ready")
        self.assertIn("wanted: is no folder, and cannot be made one: Not a directory", ready()[1])
        (self.root / "wanted").unlink()
        self.wait_until(lambda: ready() == (200, "ok\n"), "ready again")
        self.end(process)


class NvidiaTest(EachProgramTests, Case):
    @classmethod
    def setUpClass(cls):
        cls.control = nvidia_control()

    def test_a_driver_that_does_not_know_the_protocol_3_is_named_in_the_state(self):
        process = self.start("--protocol=3")
        self.want(FIRST)
        self.wait_until_state("failed the MPS daemon has ended: exit status 1; see its log; --protocol=3 of snug-mps needs the driver 615")
        self.assertIsNone(self.daemon())
        self.end(process)


if __name__ == "__main__":
    unittest.main()
