"""What a watch has shown of one kind of object, so that no state in between is missed."""

import json
import threading
import uuid

from harness.mirror import MEMORY, MILLI, units
from harness.processes import wait_until


class Recorder:
    """Records every event of a path from now on; stop() in any case."""

    def __init__(self, api, path):
        self._api = api
        version = api.get(path)["metadata"]["resourceVersion"]
        self._watch = api.watch(path, resourceVersion=version)
        self._lock = threading.Lock()
        self._objects = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def objects(self):
        """The objects of all events so far, in order."""
        with self._lock:
            return list(self._objects)

    def catch_up(self, path):
        """Returns objects() when everything until now is among them: writes a mark to the object at
        `path`, which must be in the watch."""
        mark = str(uuid.uuid4())
        self._api.patch(path, {"metadata": {"annotations": {"mark": mark}}})
        wait_until("the watch has caught up", lambda: any(
            each["metadata"].get("annotations", {}).get("mark") == mark for each in self.objects()))
        return self.objects()

    def stop(self):
        self._watch.close()
        self._thread.join()

    def _read(self):
        for line in self._watch.lines():
            event = json.loads(line)
            with self._lock:
                self._objects.append(event["object"])


def amounts(node, kind="capacity"):
    """(milli, MiB) of the node's mirrored resources; None for what is not there."""
    return tuple(units(node["status"][kind].get(name)) for name in (MILLI, MEMORY))
