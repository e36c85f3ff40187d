"""A network that can fail: passes bytes between the extender and the API server until a test stops it.

It does not parse the bytes, so it cannot answer in the API server's place.
"""

import socket
import threading

_CHUNK = 1 << 16


class Relay:
    """Listens on `port`; call close() at the end."""

    def __init__(self, target_port):
        self._target = ("127.0.0.1", target_port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._sockets = set()
        self._frozen = set()    # of the sockets
        self._swallowed = None  # "requests" or "replies"
        threading.Thread(target=self._accept, daemon=True).start()

    def swallow(self, what):
        """From now on "requests" or "replies" are taken in and go nowhere."""
        with self._lock:
            self._swallowed = what

    def freeze(self):
        """The connections that are open now stay open, and nothing passes on them any more: half
        of each is gone. New ones are as ever."""
        with self._lock:
            self._frozen |= self._sockets

    def heal(self):
        """Ends every connection, whose streams have holes, and passes on what new ones carry."""
        with self._lock:
            self._swallowed = None
            self._frozen = set()
            for each in self._sockets:
                _shut(each)

    def close(self):
        _shut(self._listener)
        self._listener.close()
        self.heal()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._target)
            except OSError:
                client.close()
                continue
            with self._lock:
                self._sockets |= {client, server}
            for what, source, sink in (("requests", client, server), ("replies", server, client)):
                threading.Thread(target=self._pass, args=(what, source, sink), daemon=True).start()

    def _pass(self, what, source, sink):
        try:
            while chunk := source.recv(_CHUNK):
                with self._lock:
                    swallowed = self._swallowed == what or source in self._frozen
                if not swallowed:
                    sink.sendall(chunk)
        except OSError:
            pass
        with self._lock:
            self._sockets -= {source, sink}
            self._frozen -= {source, sink}
        _shut(source)
        _shut(sink)


def _shut(each):
    try:
        each.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
