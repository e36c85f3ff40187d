"""Writes an image in the layout of the Open Container Initiative. The same contents give the same bytes."""

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path

MEDIA = "application/vnd.oci.image."
REF = "org.opencontainers.image.ref.name"


class Tree:
    """The files of one layer, by path."""

    def __init__(self):
        self.entries = {}

    def add(self, path, data, mode=0o644, time=0):
        info = tarfile.TarInfo(path)
        info.size, info.mode, info.mtime = len(data), mode, time
        self._put(info, data)

    def folder(self, path, mode=0o755):
        info = tarfile.TarInfo(path)
        info.type, info.mode = tarfile.DIRTYPE, mode
        self._put(info, b"")

    def member(self, info, data):
        """A file or link of an archive, with its time and mode."""
        copy = tarfile.TarInfo(info.name)
        copy.type, copy.linkname, copy.size = info.type, info.linkname, len(data)
        copy.mode, copy.mtime = info.mode, int(info.mtime)
        self._put(copy, data)

    def _put(self, info, data):
        for parent in list(Path(info.name).parents)[:-1]:
            if str(parent) not in self.entries:
                self.folder(str(parent))
        self.entries[info.name] = (info, data)

    def tar(self):
        out = io.BytesIO()
        with tarfile.open(mode="w", fileobj=out, format=tarfile.PAX_FORMAT) as archive:
            for _, (info, data) in sorted(self.entries.items()):
                archive.addfile(info, io.BytesIO(data))
        return out.getvalue()


class Layout:
    """A folder with one image for one or several architectures. Adding an architecture again replaces it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.blobs = self.folder / "blobs/sha256"
        self.blobs.mkdir(parents=True, exist_ok=True)
        (self.folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')

    def _read(self, descriptor):
        return json.loads((self.blobs / descriptor["digest"].removeprefix("sha256:")).read_text())

    def _blob(self, data, kind):
        name = hashlib.sha256(data).hexdigest()
        (self.blobs / name).write_bytes(data)
        return {"mediaType": MEDIA + kind, "digest": f"sha256:{name}", "size": len(data)}

    def _json(self, value, kind):
        return self._blob(json.dumps(value, sort_keys=True).encode(), kind)

    def _images(self):
        path = self.folder / "index.json"
        if not path.exists():
            return []
        [index] = json.loads(path.read_text())["manifests"]
        return self._read(index)["manifests"]

    def add(self, architecture, trees, config, annotations):
        """Adds the image and returns its descriptor. `config` is what a runtime reads, `created` included."""
        layers, plain = [], []
        for tree in trees:
            data = tree.tar()
            plain.append(f"sha256:{hashlib.sha256(data).hexdigest()}")
            layers.append(self._blob(gzip.compress(data, 6, mtime=0), "layer.v1.tar+gzip"))
        whole = {**config, "architecture": architecture, "os": "linux",
                 "rootfs": {"type": "layers", "diff_ids": plain}}
        image = self._json({"schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json",
                            "config": self._json(whole, "config.v1+json"), "layers": layers,
                            "annotations": annotations}, "manifest.v1+json")
        image["platform"] = {"architecture": architecture, "os": "linux"}
        self._write_index([image] + [other for other in self._images()
                                     if other["platform"] != image["platform"]], annotations)
        return image

    def _write_index(self, images, annotations):
        kind = "index.v1+json"
        index = self._json({"schemaVersion": 2, "mediaType": MEDIA + kind, "annotations": annotations,
                            "manifests": sorted(images, key=lambda each: each["platform"]["architecture"])}, kind)
        index["annotations"] = {REF: annotations["org.opencontainers.image.version"]}
        (self.folder / "index.json").write_text(json.dumps(
            {"schemaVersion": 2, "mediaType": MEDIA + kind, "manifests": [index]}, sort_keys=True))
        self._remove_unused(index)

    def _remove_unused(self, index):
        used = {index["digest"]}
        for image in self._read(index)["manifests"]:
            manifest = self._read(image)
            used |= {each["digest"] for each in (image, manifest["config"], *manifest["layers"])}
        for path in self.blobs.iterdir():
            if f"sha256:{path.name}" not in used:
                path.unlink()
