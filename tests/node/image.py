"""Images of one static busybox, as OCI archives."""

import hashlib
import io
import json
import pathlib
import platform
import tarfile

IMAGE, PAUSE = "localhost/busy:1", "localhost/pause:1"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
APPLETS = ("sh", "env", "sleep", "cat", "true", "ls", "stat", "test", "dd", "mount", "grep")
PASSWD = b"root:x:0:0::/:/bin/sh\n"


def write(path, name, busybox, command, files=None, env=()):
    """An OCI image `name` of one layer, whose containers run `command` by default. `files`: more of them, path in
    the image -> path here. `env`: more of its variables, as NAME=VALUE."""
    blobs = {}

    def put(data, media_type):
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

    layer = put(_layer(busybox, files or {}), "application/vnd.oci.image.layer.v1.tar")
    config = put(_json({
        "architecture": ARCHITECTURES[platform.machine()], "os": "linux",
        "config": {"Env": ["PATH=/bin", *env], "Cmd": command},
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
    }), "application/vnd.oci.image.config.v1+json")
    manifest = put(_json({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config, "layers": [layer],
    }), "application/vnd.oci.image.manifest.v1+json")
    index = _json({"schemaVersion": 2, "manifests": [
        {**manifest, "annotations": {"io.containerd.image.name": name}}]})
    path.write_bytes(_tar([
        ("oci-layout", b'{"imageLayoutVersion":"1.0.0"}'), ("index.json", index),
        *((f"blobs/sha256/{digest}", data) for digest, data in blobs.items())]))


def _layer(busybox, files):
    names = {"bin", "dev", "etc", "proc", "sys", "tmp"}
    for path in files:
        names |= {str(parent) for parent in pathlib.PurePosixPath(path).parents} - {"."}
    folders = [(name, None) for name in sorted(names)]
    links = [(f"bin/{name}", "busybox") for name in APPLETS]
    return _tar([*folders, ("bin/busybox", busybox.read_bytes()), ("etc/passwd", PASSWD), *links,
                 *((path, source.read_bytes()) for path, source in files.items())])


def _json(value):
    return json.dumps(value).encode()


def _tar(entries):
    """Entries are (name, content): bytes of a file, the target of a symbolic link, None for a folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in entries:
            entry = tarfile.TarInfo(name)
            entry.mode = 0o755
            if content is None:
                entry.type = tarfile.DIRTYPE
            elif isinstance(content, str):
                entry.type = tarfile.SYMTYPE
                entry.linkname = content
            else:
                entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content) if isinstance(content, bytes) else None)
    return buffer.getvalue()
