#!/usr/bin/env python3
"""Makes the images of Snug from packages and built programs; deploy/image/build.sh calls it.

    image.py --arch ARCH --packages FOLDER --programs FOLDER --headers FILE --revision TEXT OUT

OUT/image is the OCI layout of snug-extender, to which ARCH is added, and OUT/snug-ARCH.spdx.json its SBOM;
OUT/agent-image and OUT/snug-agent-ARCH.spdx.json are those of snug-agent; OUT/packages-ARCH.tsv has the packages of Debian
in both. SOURCE_DATE_EPOCH is the time of Snug's own files and of the documents.
"""

import argparse
import datetime
import os
import re
from dataclasses import dataclass
from pathlib import Path

import debs
import sbom
from oci import Layout, Tree

ROOT = Path(__file__).resolve().parents[2]
USER = "65532"  # snug-agent needs root: its manifest says so
TITLE = "org.opencontainers.image."


@dataclass
class Image:
    name: str  # also of the program that it runs
    folder: str
    sbom: str
    programs: tuple
    has_policies: bool
    description: str


IMAGES = (Image("snug-extender", "image", "snug", ("snug-extender", "snugctl"), True,
                "Kubernetes scheduler extender that shares GPUs"),
          Image("snug-agent", "agent-image", "snug-agent", ("snug-agent", "snug-mps", "snug-gate", "snug-observe"), False,
                "Gives containers of a Kubernetes node the GPUs that Snug has reserved for them"))


def base_layer(packages):
    """What the programs need of Debian, where scanners look for it, without a shell or a package manager."""
    tree, certificates, newest = Tree(), [], 0
    for package in packages:
        for info, data in package.members:
            newest = max(newest, int(info.mtime))
            if info.name.endswith(".crt"):
                certificates.append(data)
            else:
                tree.member(info, data)
    files = {"etc/ssl/certs/ca-certificates.crt": b"".join(certificates),
             "etc/passwd": f"root:x:0:0:root:/:/\nsnug:x:{USER}:{USER}:snug:/:/\n".encode(),
             "etc/group": f"root:x:0:\nsnug:x:{USER}:\n".encode(),
             "etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files dns\n"}
    for package in packages:
        # Scanners take a package for removed whose status they do not know.
        files[f"var/lib/dpkg/status.d/{package.name}"] = \
            f"{package.control.rstrip()}\nStatus: install ok installed\n".encode()
    for path, data in files.items():
        tree.add(path, data, time=newest)
    for folder in ("dev", "proc", "sys"):
        tree.folder(folder)
    tree.folder("tmp", 0o1777)
    return tree


def snug_layer(image, programs, time):
    tree = Tree()
    for name in image.programs:
        tree.add(f"usr/bin/{name}", (programs / name).read_bytes(), 0o755, time)
    for path in sorted((ROOT / "policies").glob("*.yaml")) if image.has_policies else ():
        tree.add(f"usr/share/snug/policies/{path.name}", path.read_bytes(), time=time)
    tree.add("usr/share/doc/snug/copyright", (ROOT / "deploy/deb/copyright").read_bytes(), time=time)
    return tree


def config(name, created, labels):
    recipe = (ROOT / "deploy/image/Dockerfile").read_text()
    ports = re.search(rf"^FROM \S+ AS {name}$.*?^EXPOSE ([^\n]*)$", recipe, re.M | re.S)[1].split()
    return {"created": created, "config": {
        "User": f"{USER}:{USER}", "Entrypoint": [f"/usr/bin/{name}"], "WorkingDir": "/",
        "Env": ["PATH=/usr/bin", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"],
        "ExposedPorts": {f"{port}/tcp": {} for port in ports}, "Labels": labels},
        "history": [{"created": created, "created_by": text} for text in ("packages of Debian 12", "Snug")]}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", required=True)
    for name in ("--packages", "--programs", "--headers"):
        parser.add_argument(name, required=True, type=Path)
    parser.add_argument("--revision", required=True, help="the commit of Snug")
    parser.add_argument("out", type=Path)
    return parser.parse_args()


def main():
    options = arguments()
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    version = re.search(r"project\(snug VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    packages = debs.read_folder(options.packages)
    base = base_layer(packages)
    (options.out / f"packages-{options.arch}.tsv").write_text(
        "".join(f"{each.name}\t{each.version}\t{each.sha256}\n" for each in packages))
    for image in IMAGES:
        labels = {TITLE + "title": image.name, TITLE + "version": version, TITLE + "revision": options.revision,
                  TITLE + "created": created, TITLE + "licenses": "Apache-2.0", TITLE + "description": image.description}
        made = Layout(options.out / image.folder).add(
            options.arch, [base, snug_layer(image, options.programs, epoch)], config(image.name, created, labels), labels)
        document = sbom.Document(image.name, version, created, options.arch, made["digest"])
        (options.out / f"{image.sbom}-{options.arch}.spdx.json").write_text(
            document.text(packages, [options.programs / name for name in image.programs], options.headers))
        print(f"{image.name} {options.arch} {made['digest']}")


if __name__ == "__main__":
    main()
