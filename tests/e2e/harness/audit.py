"""What the API server wrote down about the calls of the extender and of the scheduler."""

import collections
import json
import pathlib


class AuditLog:
    def __init__(self, path):
        self.path = pathlib.Path(path)

    def mark(self):
        """The point from which calls_since() counts."""
        return self.path.stat().st_size if self.path.exists() else 0

    def read_since(self, mark):
        """The entries that are whole, and the mark of the next one."""
        if not self.path.exists():
            return [], mark
        with open(self.path, "rb") as file:
            file.seek(mark)
            lines = file.read()
        end = lines.rfind(b"\n") + 1
        return [json.loads(line) for line in lines[:end].splitlines()], mark + end

    def entries_since(self, mark):
        return self.read_since(mark)[0]

    def calls_since(self, mark, user, answered=False):
        """calls_of() the entries since `mark`."""
        return self.calls_of(self.entries_since(mark), user, answered)

    @staticmethod
    def calls_of(entries, user, answered=False):
        """Finished calls by `verb resource[/subresource]`, for example `create pods/binding`. With
        `answered`, without those of status 500 and above: the caller had gone, or the API server was slow."""
        calls = collections.Counter()
        for entry in entries:
            if entry["user"]["username"] != user or entry["stage"] != "ResponseComplete":
                continue
            if answered and entry["responseStatus"]["code"] >= 500:
                continue
            target = entry.get("objectRef", {})
            resource = target.get("resource", entry["requestURI"])
            if target.get("subresource"):
                resource += "/" + target["subresource"]
            calls[f"{entry['verb']} {resource}"] += 1
        return calls

    def deleted_since(self, mark, user, resource):
        """The names of the objects that the user has deleted, one by one."""
        return [entry["objectRef"]["name"] for entry in self.entries_since(mark)
                if (entry["verb"], entry["stage"]) == ("delete", "ResponseComplete")
                and entry["user"]["username"] == user
                and entry["objectRef"]["resource"] == resource
                and entry["responseStatus"]["code"] == 200]

    def forbidden_since(self, mark, user):
        """Calls that RBAC or admission refused: there should be none."""
        return [f"{entry['verb']} {entry['requestURI']}" for entry in self.entries_since(mark)
                if entry["user"]["username"] == user
                and entry.get("responseStatus", {}).get("code") in (401, 403)]
