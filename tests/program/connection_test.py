"""How snugctl and the plug-in of kubectl reach Snug: by --server, or by kubectl's port-forward, here by a
stand-in for kubectl; tests/node does it with the real one."""

import contextlib
import http.server
import json
import os
import resource
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from programs import SNUGCTL, run, start, start_extender
from terminal import CTRL_C, Terminal

FAKE = Path(__file__).resolve().with_name("fake_kubectl.py")
# The real one is not its last command, which bash would become.
SCRIPT_AROUND_KUBECTL = '"$real" "$@"\necho "$@" >/dev/null'
NODE_REPLY = {"generation": 1, "nodes": [{"name": "a", "pool": "auto", "gpus": [], "kubeletAssigned": []}]}


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # It may also end between the open and the read.
        return False


def wait_until(what, holds, seconds=30):
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true")
        time.sleep(0.01)


def admin_stub(case, replies):
    """HOST:PORT of a server that answers these paths with these texts; errors of Snug have the status 404."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            text = replies.get(self.path)
            self.send_response(404 if text is None or text.startswith('{"Error":') else 200)
            body = (text or "").encode()
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    case.addCleanup(server.server_close)
    case.addCleanup(server.shutdown)
    return f"127.0.0.1:{server.server_port}"


class WithKubectl(unittest.TestCase):
    """`self.plugin` and `self.snugctl` run with a kubectl that has `self.orders`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="snug-kubectl-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "kubectl").symlink_to(FAKE)
        self.program = self.folder / "kubectl-snug"
        self.program.symlink_to(SNUGCTL)
        self.log = self.folder / "log"
        self.orders = {"log": str(self.log), "pods": "snug-a\tuid-a\t8889\tTrue\t\n", "admin": {}}

    def environment(self):
        file = self.folder / "orders.json"
        file.write_text(json.dumps(self.orders))
        # Where no DNS answers, a name is unknown before snugctl gives up.
        return {"PATH": f"{self.folder}:/usr/bin:/bin", "FAKE_KUBECTL": str(file), "RES_OPTIONS": "timeout:1 attempts:1"}

    def plugin(self, *words):
        return run(self.program, *words, **self.environment())

    def snugctl(self, *words):
        return run(SNUGCTL, *words, **self.environment())

    def calls(self):
        """The commands that kubectl was given, as text, and the ids of their processes."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []
        return [" ".join(line["words"]) for line in lines], [line["pid"] for line in lines]

    def forwarded_pods(self):
        return [word.removeprefix("pod/") for call in self.calls()[0] if call.startswith("port-forward")
                for word in call.split() if word.startswith("pod/")]

    def check_all_ended(self):
        _, pids = self.calls()
        self.assertTrue(pids)
        wait_until("kubectl has ended", lambda: not any(map(is_running, pids)))


    def replace_kubectl(self, script):
        """kubectl is a script of bash, for which `$real` is the stand-in."""
        kubectl = self.folder / "kubectl"
        kubectl.unlink(missing_ok=True)
        kubectl.write_text(f'#!/bin/bash\nreal="{FAKE}"\nleft="{self.folder}/left"\n{script}\n')
        kubectl.chmod(0o755)

    def left_behind(self):
        """The id of the process that the script has written to `$left`."""
        file = self.folder / "left"
        wait_until("the script has written", lambda: file.exists() and file.read_text().endswith("\n"))
        pid = int(file.read_text())

        def end():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.addCleanup(end)
        return pid


class PortForwardTest(WithKubectl):
    def setUp(self):
        super().setUp()
        _, admin = start_extender(self)
        self.admin = admin.removeprefix("http://")
        self.orders["admin"]["snug-a"] = self.admin

    def test_the_plugin_reaches_snug_and_ends_the_forward(self):
        done = self.plugin("top", "-o", "name")
        self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (0, "node/a10-by-labels"))
        calls, _ = self.calls()
        self.assertEqual(len(calls), 2, calls)
        self.assertIn("--namespace=snug --selector=app.kubernetes.io/name=snug", calls[0])
        self.assertEqual(calls[1], "port-forward --namespace=snug --address=127.0.0.1 pod/snug-a :8889")
        self.check_all_ended()

    def test_snugctl_does_so_with_any_flag_of_kubectl(self):
        for flags in (["--context", "c"], ["--kubeconfig", "f"], ["--as=jane", "--as-group=a", "--as-group", "b"],
                      ["--cluster", "x", "--user", "y"], ["--snug-namespace", "gpu"]):
            self.log.unlink(missing_ok=True)
            done = self.snugctl("top", "-o", "name", *flags)
            self.assertEqual(done.returncode, 0, done.stdout)
            calls, _ = self.calls()
            expected = " ".join(flags).replace(" ", "=").replace("=--", " --")
            for call in calls:
                self.assertIn(expected if "--user" not in flags else "--cluster=x --user=y",
                              call.replace("--namespace=gpu", "--snug-namespace=gpu"))
        self.log.unlink()
        done = self.snugctl("top", "-o", "name", "--server", f"http://{self.admin}")
        self.assertEqual((done.returncode, self.calls()[0]), (0, []))

    def test_the_plugin_takes_a_server_too(self):
        done = self.plugin("top", "-o", "name", "--server", f"http://{self.admin}")
        self.assertEqual((done.returncode, self.calls()[0]), (0, []))

    def test_the_replica_that_decides_is_asked(self):
        standby = "ok: this Snug is a standby, and the leader is snug-a_uid-a\n"
        self.orders["pods"] = "".join(f"snug-{name}\tuid-{name}\t8889\t{ready}\t\n" for name, ready in (
            ("b", "True"), ("c", "True"), ("a", "True"), ("d", "False")))
        self.orders["admin"].update({f"snug-{name}": admin_stub(self, {"/readyz": standby}) for name in "bcd"})
        done = self.plugin("top", "-o", "name")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.forwarded_pods(), ["snug-b", "snug-a"])
        self.check_all_ended()

    def test_a_standby_answers_if_nobody_decides(self):
        nodes = json.dumps({"generation": 1, "nodes": []})
        standby = "ok: this Snug is a standby, and no leader is known\n"
        self.orders["pods"] = "snug-b\tuid-b\t8889\tTrue\t\nsnug-c\tuid-c\t8889\tTrue\t\n"
        self.orders["admin"] = {f"snug-{name}": admin_stub(self, {"/readyz": standby, "/v1/nodes": nodes}) for name in "bc"}
        done = self.plugin("top", "-o", "json")
        self.assertEqual((done.returncode, json.loads(done.stdout)), (0, json.loads(nodes)))
        self.assertEqual(self.forwarded_pods(), ["snug-b", "snug-c", "snug-b"])
        self.check_all_ended()

    def test_a_pod_has_the_namespace_of_the_context(self):
        self.orders["namespace"] = "team"
        done = self.plugin("defrag", "--pod", "nobody")
        self.assertEqual((done.returncode, done.stdout), (1, "kubectl snug: no pod team/nobody is pending\n"))
        self.orders["namespace"] = ""
        done = self.plugin("defrag", "--pod", "nobody")
        self.assertEqual(done.stdout, "kubectl snug: no pod default/nobody is pending\n")
        done = self.plugin("defrag", "--pod", "nobody", "-n", "mine")
        self.assertEqual(done.stdout, "kubectl snug: no pod mine/nobody is pending\n")

    def test_watch_goes_on_when_snug_was_away(self):
        """The port-forward breaks, and the next one leads to another Snug."""
        process, admin = start_extender(self)
        self.orders["admin"]["snug-a"] = admin.removeprefix("http://")
        terminal = Terminal(self, [self.program, "top", "pods", "--watch", "--interval", "100ms"], (200, 30),
                            {**self.environment(), "LC_ALL": "C"})
        terminal.read_until("NAMESPACE  POD")
        process.terminate()
        process.wait(30)
        terminal.read_until("out of date: kubectl port-forward to pod snug/snug-a ")
        terminal.text = ""
        _, admin = start_extender(self)
        self.orders["admin"]["snug-a"] = admin.removeprefix("http://")
        self.environment()
        terminal.read_until("\x1b[H\x1b[1mNAMESPACE  POD")
        while "out of date" in terminal.text.rpartition("\x1b[H")[2] or not terminal.text.endswith("\x1b[J"):
            terminal.read()
        terminal.press(CTRL_C)
        self.assertEqual(terminal.process.wait(30), -signal.SIGINT)
        self.check_all_ended()

    def test_watch_keeps_the_port_forward_while_snug_answers(self):
        """A node leaves the cluster, and comes back."""
        replies = {"/readyz": "ok\n", "/v1/nodes?name=a": json.dumps(NODE_REPLY)}
        self.orders["admin"]["snug-a"] = admin_stub(self, replies)
        terminal = Terminal(self, [self.program, "top", "a", "--watch", "--interval", "100ms"], (200, 30),
                            {**self.environment(), "LC_ALL": "C"})
        terminal.read_until("1 node, 0 GPUs")
        replies["/v1/nodes?name=a"] = '{"Error":"no such node"}'
        terminal.read_until('out of date: Snug does not know a node "a"')
        replies["/v1/nodes?name=a"] = json.dumps(NODE_REPLY)
        terminal.text = ""
        while "out of date" in terminal.text.rpartition("\x1b[H")[2] or not terminal.text.endswith("\x1b[J"):
            terminal.read()
        self.assertEqual(self.forwarded_pods(), ["snug-a"])
        terminal.press(CTRL_C)
        self.assertEqual(terminal.process.wait(30), -signal.SIGINT)
        self.check_all_ended()

    def test_labels_choose_nodes(self):
        self.orders["nodes"] = ["t4", "l40s", "of-no-gpu"]
        done = self.plugin("top", "-l", "zone in (a, b)", "-o", "name")
        self.assertEqual((done.returncode, done.stdout), (0, "node/l40s\nnode/t4\n"))
        self.assertIn("get nodes --selector=zone in (a, b) ", self.calls()[0][0])
        done = self.snugctl("top", "-l", "zone=a", "-o", "name", "--context", "c", "--server", f"http://{self.admin}")
        self.assertEqual((done.returncode, done.stdout), (0, "node/l40s\nnode/t4\n"))
        self.assertEqual(self.forwarded_pods(), ["snug-a"])
        done = self.snugctl("top", "-l", "zone=a")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--selector asks kubectl which nodes have the labels, so it needs --context", done.stdout)


    def test_what_kubectl_leaves_behind_is_not_waited_for(self):
        self.replace_kubectl('[ "$1" = get ] && { sleep 600 2>/dev/null & echo $! >"$left"; }\nexec "$real" "$@"')
        process = start(self, self.program, "top", "-o", "name", **self.environment())
        pid = self.left_behind()
        output, _ = process.communicate(timeout=30)
        self.assertEqual((process.returncode, output.splitlines()[0]), (0, "node/a10-by-labels"))
        self.assertTrue(is_running(pid), "it kept the output open")

    def test_a_forward_that_never_stops_complaining(self):
        self.replace_kubectl('[ "$1" = port-forward ] && { yes >&2 & }\nexec "$real" "$@"')
        process = start(self, self.program, "top", "-o", "name", **self.environment())
        output, _ = process.communicate(timeout=30)
        self.assertEqual((process.returncode, output.splitlines()[0]), (0, "node/a10-by-labels"))
        self.check_all_ended()


class EndingTest(WithKubectl):
    """However snugctl ends, kubectl's process group ends with it."""

    def start_hanging(self, *words):
        """The plug-in, which waits for a reply that never comes, and the process of its port-forward."""
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        self.orders["admin"]["snug-a"] = f"127.0.0.1:{silent.getsockname()[1]}"
        process = start(self, self.program, "top", *words, **self.environment())
        silent.settimeout(30)
        connection, _ = silent.accept()  # the request has gone through the forward
        self.addCleanup(connection.close)
        [pid] = [pid for call, pid in zip(*self.calls()) if call.startswith("port-forward")]
        self.assertTrue(is_running(pid))
        self.assertNotEqual(os.getpgid(pid), os.getpgid(process.pid), "a process group of its own")
        return process, pid

    def check_signals(self, *numbers):
        for number in numbers:
            with self.subTest(number):
                self.log.unlink(missing_ok=True)
                process, pid = self.start_hanging()
                process.send_signal(number)
                self.assertEqual(process.wait(30), -number)
                wait_until("the forward has ended", lambda pid=pid: not is_running(pid))

    def make_no_core_files(self):
        before = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, before[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_CORE, before)

    def test_signals(self):
        self.make_no_core_files()
        self.check_signals(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL)

    def test_signals_end_what_kubectl_has_started(self):
        self.make_no_core_files()
        self.replace_kubectl(SCRIPT_AROUND_KUBECTL)
        self.check_signals(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)

    def test_signals_end_a_request_of_kubectl(self):
        """Without a terminal, on which a login could be asked for."""
        self.replace_kubectl('sleep 600 2>/dev/null & echo $! >"$left"\nwait')
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                (self.folder / "left").unlink(missing_ok=True)
                process = subprocess.Popen([self.program, "top"], stdin=subprocess.DEVNULL, start_new_session=True,
                                           env={**os.environ, **self.environment()})
                self.addCleanup(process.kill)
                pid = self.left_behind()
                self.assertTrue(is_running(pid))
                process.send_signal(number)
                self.assertEqual(process.wait(30), -number)
                wait_until("what kubectl has started has ended", lambda pid=pid: not is_running(pid))

    def test_what_kubectl_has_started_ends_too(self):
        """As where kubectl is a script that starts the real one."""
        self.replace_kubectl(SCRIPT_AROUND_KUBECTL)
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        self.orders["admin"]["snug-a"] = f"127.0.0.1:{silent.getsockname()[1]}"
        process = start(self, self.program, "top", **self.environment())
        silent.settimeout(30)
        silent.accept()[0].close()  # the reply is cut off, so snugctl ends by itself
        self.assertEqual(process.wait(30), 1)
        _, pids = self.calls()
        for pid in pids:
            wait_until("the real one has ended", lambda pid=pid: not is_running(pid))

    def test_a_broken_pipe(self):
        _, admin = start_extender(self)
        self.orders["admin"]["snug-a"] = admin.removeprefix("http://")
        self.replace_kubectl(SCRIPT_AROUND_KUBECTL)
        for is_default, code in ((True, -signal.SIGPIPE), (False, 1)):  # Python ignores SIGPIPE
            with self.subTest(code):
                self.log.unlink(missing_ok=True)
                process = subprocess.Popen([self.program, "top", "--watch", "--interval", "100ms"],
                                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                           restore_signals=is_default, env={**os.environ, **self.environment()})
                self.addCleanup(process.kill)
                self.assertTrue(process.stdout.readline())
                process.stdout.close()
                self.assertEqual(process.wait(30), code)
                self.check_all_ended()


class NoSnugTest(WithKubectl):
    """What people are told if Snug cannot be reached."""

    def check(self, done, *said, code=1):
        self.assertEqual(done.returncode, code, done.stdout)
        for text in said:
            self.assertIn(text, done.stdout)

    def test_no_kubectl(self):
        (self.folder / "kubectl").unlink()
        done = run(self.program, "top", PATH=str(self.folder))
        self.check(done, "kubectl snug: kubectl cannot be started: there is no such program in PATH\n")

    def test_kubectl_says_itself_what_is_wrong(self):
        self.orders["fail"] = {"get pods": ['error: context "x" does not exist', 1]}
        self.check(self.plugin("top", "--context", "x"), 'error: context "x" does not exist\n',
                   "kubectl snug: kubectl could not list the pods of namespace snug (its exit code is 1)\n")

    def test_no_pod(self):
        self.orders["pods"] = ""
        self.check(self.plugin("top", "--snug-namespace", "gpu"),
                   "kubectl snug: namespace gpu has no running pod with the label app.kubernetes.io/name=snug; if Snug "
                   "runs in another one, name it with --snug-namespace\n")

    def test_the_forward_fails(self):
        self.orders["fail"] = {"port-forward": ["error: pods \"snug-a\" is forbidden: cannot create portforward", 1]}
        self.check(self.plugin("top"), "kubectl snug: kubectl port-forward to pod snug/snug-a failed: error: pods "
                                       '"snug-a" is forbidden: cannot create portforward\n')

    def test_the_forward_never_stops_complaining(self):
        """It has closed its stdout, so it will not be ready."""
        for flood, said in (("yes complaint", "failed: complaint\n"), ("tr '\\0' x </dev/zero", "failed: xxxx")):
            with self.subTest(flood):
                self.replace_kubectl(f'[ "$1" = port-forward ] || exec "$real" "$@"\nexec >&-\n{flood} >&2')
                process = start(self, self.program, "top", **self.environment())
                _, errors = process.communicate(timeout=30)
                self.assertEqual(process.returncode, 1)
                self.assertIn(f"kubectl snug: kubectl port-forward to pod snug/snug-a {said}", errors)

    def test_the_forward_leads_nowhere(self):
        with socket.create_server(("127.0.0.1", 0)) as closed:
            self.orders["admin"]["snug-a"] = f"127.0.0.1:{closed.getsockname()[1]}"
        self.check(self.plugin("top"), "kubectl snug: kubectl port-forward to pod snug/snug-a does not reach Snug: "
                                       "an error occurred forwarding: Connection refused\n")
        self.check_all_ended()

    def test_no_server(self):
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        self.check(self.snugctl("top", "--server", f"http://127.0.0.1:{port}"),
                   f"snugctl: http://127.0.0.1:{port} cannot be connected to: the connection was refused, so nothing "
                   "listens there; start snug-extender, or name its adminListen address with --server; from outside "
                   "the cluster, use `kubectl snug` or --context, which reach Snug by a port-forward\n")
        self.check(self.snugctl("top", "--server", "http://no-such-host.invalid:8889"),
                   "http://no-such-host.invalid:8889 cannot be connected to: its host name is unknown to DNS; ")
        self.check(self.snugctl("top", "--server", "https://127.0.0.1:1"), "the connection was refused")
        self.check(self.snugctl("top", "--server", "ftp://127.0.0.1:1"), "must be http://HOST:PORT or https://HOST:PORT", code=2)

    def test_a_host_that_drops_connections(self):
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full, contextlib.ExitStack() as clients:
            port = full.getsockname()[1]
            for _ in range(4):  # until its queue is full
                client = clients.enter_context(socket.socket())
                client.setblocking(False)
                client.connect_ex(("127.0.0.1", port))
            self.check(self.snugctl("top", "--server", f"http://127.0.0.1:{port}"),
                       f"http://127.0.0.1:{port} cannot be connected to: no answer within 5 s, as when a firewall or a "
                       "NetworkPolicy drops the connection")

    def test_other_servers(self):
        other = admin_stub(self, {})
        self.check(self.snugctl("top", "--server", f"http://{other}"),
                   f"snugctl: http://{other} is not the admin address of snug-extender (adminListen, whose port is 8889 "
                   "by default)\n")
        old = admin_stub(self, {"/livez": "ok\n"})
        self.check(self.snugctl("top", "--server", f"http://{old}"),
                   f"snugctl: http://{old} has no /v1/nodes: this Snug is older than this snugctl\n")
        refusing = admin_stub(self, {f"/v1/{path}": '{"Error":"there is \\u001b[2Jnothing"}' for path in ("nodes", "pods")})
        for view in ("nodes", "pods", "gpus"):
            self.check(self.snugctl("top", view, "--server", f"http://{refusing}"), "snugctl: there is ?[2Jnothing\n")
        strange = admin_stub(self, {"/v1/nodes": "hello"})
        self.check(self.snugctl("top", "--server", f"http://{strange}"),
                   f"snugctl: http://{strange}: it is not a list of nodes: ")

    def test_a_port_with_tls(self):
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x",
            "-keyout", self.folder / "key", "-out", self.folder / "crt", "-days", "1")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "crt", self.folder / "key")
        with socket.create_server(("127.0.0.1", 0)) as server:
            def serve():
                with contextlib.suppress(OSError):
                    connection, _ = server.accept()
                    context.wrap_socket(connection, server_side=True)
            thread = threading.Thread(target=serve)
            thread.start()
            port = server.getsockname()[1]
            done = self.snugctl("top", "--server", f"http://127.0.0.1:{port}")
            thread.join(30)
        self.check(done, f"http://127.0.0.1:{port} ", "; it may be a port with TLS: if adminAuth or adminTlsCert is set, name it as "
                                                      "https://HOST:PORT")


if __name__ == "__main__":
    unittest.main()
