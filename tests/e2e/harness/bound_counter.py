"""Knows at any moment how many pods have been bound, at next to no cost."""

import http.client
import json
import threading
import time

from .api import ApiError
from .processes import wait_a_moment


class BoundCounter:
    """Counts bound pods from a watch without reading the objects: the selector lets a pod in when
    it has a nodeName, which is the one time that it is ADDED. The API server ends a watch whose
    reader is too slow; the counter then continues at the last resource version."""

    def __init__(self, api, path, wanted):
        self._api = api
        self._path = path
        self._wanted = wanted
        self._closed = False
        self._version = api.get(path + "?limit=1")["metadata"]["resourceVersion"]
        self._watch = self._open()
        self.count = self.restarts = 0
        self.done_at = None
        self.done = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def close(self):
        self._closed = True
        self._watch.close()
        self._thread.join(10)

    def _open(self):
        return self._api.watch(self._path, fieldSelector="spec.nodeName!=",
                               resourceVersion=self._version)

    def _read(self):
        while True:
            last = self._read_one_watch()
            if self.done.is_set() or self._closed:
                return
            if last:
                self._go_on_from(json.loads(last))
            self.restarts += 1
            self._open_again()

    def _go_on_from(self, event):
        if event["type"] != "ERROR":
            self._version = event["object"]["metadata"]["resourceVersion"]
            return
        # It is expired: etcd was compacted.
        while not self._closed:
            try:
                listed = self._api.get(self._path + "?fieldSelector=spec.nodeName%21%3D")
                self.count = max(self.count, len(listed["items"]))
                self._version = listed["metadata"]["resourceVersion"]
                return
            except (OSError, ApiError):
                wait_a_moment()

    def _open_again(self):
        """As soon as there is an API server."""
        while not self._closed:
            try:
                self._watch = self._open()
                return
            except (OSError, ApiError):
                wait_a_moment()

    def _lines(self):
        try:
            yield from self._watch.lines()
        except (OSError, http.client.HTTPException):
            return  # the API server has gone

    def _read_one_watch(self):
        """Returns the last line."""
        line = None
        for line in self._lines():
            if line.startswith(b'{"type":"ADDED"'):
                self.count += 1
                if self.count == self._wanted:
                    self.done_at = time.monotonic()
                    self.done.set()
                    break
        return line
