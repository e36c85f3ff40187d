"""Runs the real helm on deploy/chart, and reads what it makes."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

import yaml

from programs import ROOT

sys.path.insert(0, str(ROOT / "deploy/scripts"))

import manifests  # noqa: E402

CHART = ROOT / "deploy/chart"
NO_GO = 3  # build.sh: no Go >= 1.26
SHARED = ("shape=shared", "nodes={one,two}")
MIRROR = ("mirror.smallestGpuMib=16384", "mirror.largestGpuMib=81920")
TOKEN_AND_TLS = ("adminAuth=token", "adminTokenSecret=snug-token", "adminTls.secret=snug-admin")
IS_JSON = re.compile(r'[^=]+=(\[|"|\{")')


class Strict(yaml.SafeLoader):
    """As Kubernetes reads YAML: no key stands twice."""

    def construct_mapping(self, node, deep=False):
        value = super().construct_mapping(node, deep)
        if len(value) != len(node.value):
            raise yaml.constructor.ConstructorError(None, None, "a key stands twice", node.start_mark)
        return value


def documents(text):
    return {(value["kind"], value["metadata"]["name"]): value for value in yaml.load_all(text, Strict) if value}


def pods(objects):
    """The pods of what `objects` has: (spec, container of Snug)."""
    specs = [value["spec"]["template"]["spec"] for (kind, _), value in objects.items()
             if kind in ("Deployment", "DaemonSet", "Job")]
    return [(spec, spec["containers"][0]) for spec in specs]


def flags_of(objects):
    return {flag.partition("=")[0] for _, container in pods(objects) for flag in container["args"]}


class ChartTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.helm = manifests.helm()
        except subprocess.CalledProcessError as error:
            if error.returncode != NO_GO:
                raise
            raise unittest.SkipTest("helm cannot be built: Go 1.26 is missing and cannot be installed") from None

    def template(self, *values, chart=CHART, kubernetes="1.36.3", namespace="snug"):
        """(exit code, output)"""
        settings = [word for value in values for word in ("--set-json" if IS_JSON.match(value) else "--set", value)]
        done = subprocess.run([self.helm, "template", "snug", chart, "--namespace", namespace, "--kube-version", kubernetes,
                               *settings], capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stdout if done.returncode == 0 else done.stderr

    def objects(self, *values, **options):
        """(kind, name) -> what these values give"""
        code, text = self.template(*values, **options)
        self.assertEqual(code, 0, text)
        return documents(text)
