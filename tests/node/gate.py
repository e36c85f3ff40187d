"""A gate between the kubelet and its container runtime. It passes bytes on and reads none of them."""

import contextlib
import socket
import threading


class Gate:
    """Listens at `path` and connects to `target`. When the runtime answers and shuts() is true, the gate
    drops this answer, ends all connections and accepts no other until open(). stop() in any case."""

    def __init__(self, path, target, shuts):
        self._target = str(target)
        self._shuts = shuts
        self._lock = threading.Lock()
        self._open = True
        self._opened_again = False
        self._sockets = set()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def open(self):
        """From now on everything passes."""
        with self._lock:
            self._open = self._opened_again = True

    def stop(self):
        self._shut()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        while True:
            try:
                kubelet, _ = self._listener.accept()
            except OSError:
                return
            runtime = socket.socket(socket.AF_UNIX)
            with self._lock:
                self._sockets |= {kubelet, runtime}
                passes = self._open
            try:
                if not passes:
                    raise ConnectionRefusedError
                runtime.connect(self._target)
            except OSError:
                kubelet.close()
                continue
            for source, sink, answers in ((kubelet, runtime, False), (runtime, kubelet, True)):
                threading.Thread(target=self._pump, args=(source, sink, answers), daemon=True).start()

    def _pump(self, source, sink, answers):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if answers and not self._opened_again and self._shuts():
                    self._shut()
                    return
                sink.sendall(data)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _shut(self):
        with self._lock:
            self._open = False
            sockets, self._sockets = self._sockets, set()
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
