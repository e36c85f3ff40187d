"""The admin port with a token and TLS: who gets in, and how snugctl and the dashboard do."""

import contextlib
import json
import os
import socket
import ssl
import tempfile
import threading
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from browser import CHROMIUM, Browser
from programs import CLUSTER, EXTENDER, SNUGCTL, run, start_on

REQUIRED = os.environ.get("CI") == "true"
DATA = ("/v1/nodes", "/v1/pods", "/v1/cluster", "/v1/history", "/v1/policy", "/v1/explain?pod=x", "/v1/defrag?pod=x", "/metrics")


def ask(url, token=None, scheme="Bearer", method="GET"):
    """(status, headers, body) of a request over TLS, whoever signed the certificate."""
    headers = {"Authorization": f"{scheme} {token}"} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers, method=method), timeout=10,
                                    context=ssl._create_unverified_context()) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def forged_server(case, folder, status, ending):
    """(its port, [(the protocol of ALPN, the head)] of its requests) of a server that answers with this header and with
    headers that would change the client's next request. It prefers HTTP/2."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert", folder / "key")
    context.set_alpn_protocols(["h2", "http/1.1"])
    listener = socket.create_server(("127.0.0.1", 0))
    port, requests = listener.getsockname()[1], []
    reply = (f"HTTP/1.1 {status} x\r\n{ending.format(port=port)}\r\nSet-Cookie: a=b\r\nAlt-Svc: h2=\":{port}\"\r\n"
             "Strict-Transport-Security: max-age=9\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")

    def serve():
        with contextlib.suppress(OSError):  # the listener is closed
            while True:
                connection, _ = listener.accept()
                with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True) as secure:
                    head = b""
                    while b"\r\n\r\n" not in head and (piece := secure.recv(4096)):
                        head += piece
                    requests.append((secure.selected_alpn_protocol(), head.decode(errors="replace")))
                    secure.sendall(reply.encode())

    thread = threading.Thread(target=serve)
    thread.start()
    case.addCleanup(thread.join, 30)
    case.addCleanup(listener.close)
    case.addCleanup(listener.shutdown, socket.SHUT_RDWR)
    return port, requests


class AccessTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="snug-access-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.token = self.folder / "token"
        self.token.write_text("first-token\n")

    def start(self, *flags):
        self.process, _, admin = start_on(self, CLUSTER, "--admin-auth", "token", "--admin-token-file", self.token, *flags)
        return admin.replace("http:", "https:")

    def snugctl(self, admin, *flags, **variables):
        done = run(SNUGCTL, "top", "nodes", "--server", admin, *flags, **variables)
        return done.returncode, done.stdout

    def test_data_needs_the_token_and_probes_do_not(self):
        admin = self.start()
        for path in DATA:
            with self.subTest(path):
                for given in ({}, {"token": "wrong"}, {"token": "first-token2"}, {"token": "first-toke"}, {"token": "first-token", "scheme": "Basic"}):
                    status, headers, body = ask(admin + path, **given)
                    self.assertEqual((status, headers["WWW-Authenticate"]), (401, "Bearer"))
                    self.assertIn("token", json.loads(body)["Error"])
                    self.assertNotIn("first-token", body)
                self.assertNotEqual(ask(admin + path, "first-token")[0], 401)
        for path in ("/livez", "/readyz", "/"):
            self.assertEqual(ask(admin + path)[0], 200)
        self.assertEqual(ask(admin + "/v1/pods/default/x", method="DELETE")[0], 401)

    def test_the_token_may_change_at_any_time(self):
        admin = self.start()
        self.assertEqual(ask(admin + "/v1/nodes", "first-token")[0], 200)
        self.token.write_text("second-token")
        self.assertEqual([ask(admin + "/v1/nodes", token)[0] for token in ("first-token", "second-token")], [401, 200])
        for text in ("", "two words\n"):
            self.token.write_text(text)
            self.assertEqual(ask(admin + "/v1/nodes", "second-token")[0], 503)
        self.token.unlink()
        self.assertEqual(ask(admin + "/v1/nodes", "second-token")[0], 503)
        self.process.terminate()
        log = self.process.stderr.read()
        self.assertIn(f"nobody can read the admin port: adminTokenFile: {self.token}: must contain one token", log)
        self.assertIn(f"nobody can read the admin port: adminTokenFile: {self.token}: cannot be read", log)
        self.assertNotIn("second-token", log)

    def test_a_token_file_that_cannot_be_used_is_named_at_start(self):
        for text, sentence in ((None, "cannot be read"), ("", "must contain one token"), ("a b", "must contain one token"),
                               ("a\nb", "must contain one token"), ("a\0b", "must contain one token"),
                               ("\ufeffa", "must contain one token"),
                               ("x" * 20000, "larger than")):
            with self.subTest(sentence=sentence):
                if text is None:
                    self.token.unlink()
                else:
                    self.token.write_text(text)
                done = run(EXTENDER, "--cluster", CLUSTER, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
                           "--admin-auth", "token", "--admin-token-file", self.token)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(f"adminTokenFile: {self.token}", done.stdout)
                self.assertIn(sentence, done.stdout)

    def test_a_pipe_is_no_token_file(self):
        self.token.unlink()
        os.mkfifo(self.token)
        done = run(EXTENDER, "--cluster", CLUSTER, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
                   "--admin-auth", "token", "--admin-token-file", self.token)
        self.assertEqual((done.returncode, done.stdout), (2, AnyWith("must be a regular file")))

    def test_snugctl_shows_the_token_and_checks_the_certificate(self):
        admin = self.start()
        token, blind = ("--token-file", self.token), ("--insecure-skip-tls-verify",)
        self.assertEqual(self.snugctl(admin, *token, *blind)[0], 0)
        for flags, code, sentence in (
                ((*blind,), 1, "; give it with --token-file"),
                ((*token,), 1, "has a certificate that cannot be trusted; give its authority with --ca-file"),
                ((*token, "--ca-file", self.folder / "absent"), 1, "the file of --ca-file cannot be read"),
                (("--token-file", self.folder / "absent", *blind), 2, "--token-file: ")):
            with self.subTest(sentence):
                self.assertEqual(self.snugctl(admin, *flags), (code, AnyWith(sentence)))
        self.assertEqual(self.snugctl(admin.replace("https:", "http:"), *token),
                         (1, AnyWith("name it as https://HOST:PORT")))
        for host in ("192.0.2.1", "127.evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "128.0.0.1"):
            self.assertEqual(self.snugctl(f"http://{host}:8889", *token), (2, AnyWith("without TLS, where others can read it")))

    def test_the_policy_in_force_is_simulated_with_the_token(self):
        admin = self.start()
        simulate = (SNUGCTL, "simulate", "--cluster", CLUSTER)
        token = ("--token-file", self.token)
        done = run(*simulate, "--server", admin, *token, "--insecure-skip-tls-verify")
        self.assertEqual((done.returncode, done.stdout), (0, AnyWith("in force: ")))
        for flags, code, sentence in (
                (("--server", admin, "--insecure-skip-tls-verify"), 1, "; give it with --token-file"),
                (("--server", admin, *token, "--ca-file", self.folder / "absent"), 1, "the file of --ca-file cannot be read"),
                (token, 2, "--token-file requires --server, which is missing"),
                (("--insecure-skip-tls-verify",), 2, "--insecure-skip-tls-verify requires --server, which is missing")):
            with self.subTest(sentence):
                done = run(*simulate, *flags)
                self.assertEqual((done.returncode, done.stdout), (code, AnyWith(sentence)))

    def make_certificate(self):
        done = run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                   "-subj", "/CN=snug", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.folder / "key", "-out", self.folder / "cert")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_forged_server_chooses_no_feature_of_the_client(self):
        self.make_certificate()
        (self.folder / ".netrc").write_text("machine 127.0.0.1 login a password b\n")
        for status, ending in ((302, "Location: https://127.0.0.1:{port}/elsewhere"), (401, "WWW-Authenticate: Negotiate"),
                               (200, "Content-Encoding: gzip")):
            with self.subTest(status):
                port, requests = forged_server(self, self.folder, status, ending)
                code, _ = self.snugctl(f"https://127.0.0.1:{port}", "--token-file", self.token, "--ca-file",
                                       self.folder / "cert", HOME=str(self.folder))
                self.assertEqual(code, 1)
                self.assertTrue(requests)
                for protocol, head in requests:
                    self.assertEqual(protocol, "http/1.1")
                    self.assertNotIn("elsewhere", head)
                    names = [line.partition(":")[0].lower() for line in head.splitlines()[1:] if line]
                    self.assertEqual(sorted(names), ["accept", "authorization", "host"])
                    self.assertIn("\r\nAuthorization: Bearer first-token\r\n", head)

    def test_a_certificate_of_ones_own(self):
        self.make_certificate()
        admin = self.start("--admin-tls-cert", self.folder / "cert", "--admin-tls-key", self.folder / "key")
        self.assertEqual(self.snugctl(admin, "--token-file", self.token, "--ca-file", self.folder / "cert")[0], 0)
        self.assertEqual(self.snugctl(admin, "--token-file", self.token)[0], 1)

    @unittest.skipUnless(CHROMIUM or REQUIRED, "Chromium is not installed")
    def test_the_dashboard_asks_for_the_token(self):
        browser = Browser("--ignore-certificate-errors")
        self.addCleanup(browser.stop)
        page = browser.page()
        page.open(self.start() + "/")
        page.wait("!document.getElementById('token').hidden")
        self.assertIn("needs a token", page.run("document.getElementById('banner').innerText"))
        self.assertEqual(page.run("snug.store.nodes.size"), 0)
        page.run("document.querySelector('#token input').value = 'first-token'; document.querySelector('#token button').click()")
        page.wait("snug.store.readAt && document.getElementById('token').hidden && document.getElementById('banner').hidden")
        self.assertGreater(page.run("snug.store.nodes.size"), 0)


class AnyWith(str):
    """Equals each text that contains this one."""

    def __eq__(self, other):
        return str(self) in other

    __hash__ = str.__hash__


if __name__ == "__main__":
    unittest.main()
