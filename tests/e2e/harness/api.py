"""A client of the API server: plain JSON over kept connections, one for each thread."""

import concurrent.futures
import http.client
import json
import select
import socket
import ssl
import threading
import urllib.parse

MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
REQUEST_SECONDS = 60  # the API server gives up then, too


class ApiError(Exception):
    """An answer other than 2xx."""

    def __init__(self, method, path, status, body):
        try:
            self.message = json.loads(body).get("message", "")
        except (ValueError, AttributeError):
            self.message = body[:300].decode(errors="replace")
        self.status = status
        super().__init__(f"{method} {path}: {status} {self.message}")


def with_query(path, parameters):
    return path + ("?" + urllib.parse.urlencode(parameters) if parameters else "")


def _is_over(connection):
    """Whether the API server has closed the idle connection, as it does after 90 s: nothing else comes between answers."""
    if connection.sock is None:
        return True
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))


class Api:
    """Thread-safe. `token`, where given, goes along with each request."""

    def __init__(self, port, ca, certificate=None, key=None, token=None):
        self.port = port
        self._context = ssl.create_default_context(cafile=ca)
        if certificate:
            self._context.load_cert_chain(certificate, key)
        self._headers = {"Accept": "application/json"}
        if token:
            self._headers["Authorization"] = "Bearer " + token
        self._local = threading.local()

    def connect(self, timeout=REQUEST_SECONDS):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout,
                                                 context=self._context)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def send(self, method, path, body=None, content_type="application/json"):
        """Sends bytes; returns (status, body). A request that gets no answer is not
        repeated, but for GET and DELETE on a connection that was used before."""
        connection = getattr(self._local, "connection", None)
        if connection is not None and _is_over(connection):
            connection.close()
            connection = None
        used = connection is not None
        if connection is None:
            connection = self._local.connection = self.connect()
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = content_type
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            self._local.connection = None
            # The API server may have closed a connection that was idle.
            if used and method in ("GET", "DELETE") and isinstance(
                    error, (ConnectionError, ssl.SSLError)):
                return self.send(method, path, body, content_type)
            raise

    def call(self, method, path, value=None, content_type="application/json"):
        body = None if value is None else json.dumps(value).encode()
        status, answer = self.send(method, path, body, content_type)
        if not 200 <= status < 300:
            raise ApiError(method, path, status, answer)
        return json.loads(answer)

    def get(self, path):
        return self.call("GET", path)

    def find(self, path):
        """The object, or None where there is none."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, path, **parameters):
        return self.get(with_query(path, parameters))["items"]

    def create(self, path, value):
        return self.call("POST", path, value)

    def patch(self, path, value):
        return self.call("PATCH", path, value, MERGE_PATCH)

    def delete(self, path, missing_ok=False, **options):
        """Deletes with grace period 0; an object, or a whole collection. `options`: more of
        DeleteOptions, which the API server does not read from the query of a request with a body."""
        try:
            return self.call("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions",
                                              "gracePeriodSeconds": 0, **options})
        except ApiError as error:
            if error.status == 404 and missing_ok:
                return None
            raise

    def create_all(self, path, values, threads=8):
        """Creates many objects at once; raises the first error."""
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda value: self.create(path, value), values))

    def watch(self, path, **parameters):
        return Watch(self, with_query(path, {"watch": "1", **parameters}), self._headers)


class Watch:
    """A stream of watch lines. Iterating ends with the stream; close() ends it from elsewhere."""

    def __init__(self, api, path, headers, timeout=600):
        self._connection = api.connect(timeout)
        self._connection.request("GET", path, headers=headers)
        self._answer = self._connection.getresponse()
        if self._answer.status != 200:
            raise ApiError("GET", path, self._answer.status, self._answer.read())

    def lines(self):
        """Raw lines, each one event; for readers that must not cost much."""
        rest = b""
        while True:
            try:
                chunk = self._answer.read1(1 << 18)
            except (OSError, ValueError, AttributeError, http.client.HTTPException):
                return  # closed from elsewhere
            if not chunk:
                return
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines

    def close(self):
        sock = self._connection.sock
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._connection.close()
