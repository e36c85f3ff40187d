#!/usr/bin/env python3
"""Takes the pictures of the dashboard in docs/images, in the font that Chromium takes for system-ui.

    SNUG_PROGRAMS=build/release /usr/bin/python3 tests/program/dashboard_pictures.py
"""

import tempfile
import time
import unittest
from pathlib import Path

import gpu_cluster
from browser import Browser
from dashboard_replies import history
from programs import ROOT, post, start_on

FOLDER = ROOT / "docs/images"
WAITING = (("llm-70b", "research", {"gpu-fraction": "8", "gpu-model": "*H200*"}), ("sweep-1", "batch", {"gpu-memory": "120Gi"}),
           ("sweep-2", "batch", {"gpu-memory": "120Gi"}), ("typo", "notebooks", {"gpu-fraction": "0.25x"}))


class Pictures(unittest.TestCase):
    def cluster(self, folder, name, items):
        _, verbs, admin = start_on(self, gpu_cluster.write(items, Path(folder) / f"{name}.json"))
        names = [item["metadata"]["name"] for item in items if item["kind"] == "Node"]
        return admin, lambda pod: post(f"{verbs}/filter", {"Pod": pod, "Nodes": None, "NodeNames": names})

    def take(self, page, url, name, height, replies):
        page.answer(replies)
        page.open("about:blank")
        page.show(1440, height, page.scheme, 1.5)
        page.open(url)
        page.wait("window.snug && snug.store.readAt && !/Asking why/.test(document.body.innerText)")
        page.picture(FOLDER / f"{name}.webp")

    def test_take(self):
        FOLDER.mkdir(exist_ok=True)
        browser = Browser()
        self.addCleanup(browser.stop)
        with tempfile.TemporaryDirectory() as folder:
            many, ask = self.cluster(folder, "many", gpu_cluster.large(36))
            for name, namespace, annotations in WAITING:
                ask(gpu_cluster.pod(name, namespace, annotations))
            mixed, ask = self.cluster(folder, "mixed", gpu_cluster.mixed())
            ask(gpu_cluster.pod("big", "batch", {"gpu-fraction": "8"}))
            past = (200, history(288, until=int(time.time()), end=0.66))
            light, dark = browser.page(scheme="light"), browser.page(scheme="dark")
            self.take(light, f"{many}/", "dashboard-light", 830, {"/v1/history": past})
            self.take(dark, f"{many}/", "dashboard-dark", 830, {"/v1/history": past})
            self.take(dark, f"{mixed}/", "dashboard-kinds", 760, {"/v1/history": past})
            self.take(light, f"{mixed}/#/pod/batch/big", "dashboard-pod", 860, {})


if __name__ == "__main__":
    unittest.main()
