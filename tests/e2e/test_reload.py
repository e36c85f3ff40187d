"""Scenario x: the policy changes while pods are being bound."""

import concurrent.futures
import os
import pathlib
import tempfile

from harness.objects import gpu_node, pod, share
from harness.processes import wait_until
from harness.scenario import Scenario

LOAD = 240
RELOADS = "snug_policy_reloads_total"
CLOSED = """version: 1
default: stack
profiles:
  stack: {terms: [{term: best-fit, weight: 1}]}
  apart: {terms: [{term: spread, weight: 1}]}
"""
OPEN = CLOSED + "podChoice: [{namespaces: [default], profiles: [apart]}]\n"
# Line 3 of what follows the version.
BROKEN = "version: 1\ndefault: stack\nprofilse: {}\n"
PICKY = {"gpu-fraction": "0.05", "gpu-policy": "apart"}


class ConfigMap:
    """A folder as the kubelet mounts a ConfigMap: policy.yaml leads through a link to a folder that
    is made anew for each version, and that link alone is replaced."""

    def __init__(self, folder, text):
        self._folder = pathlib.Path(folder)
        self._versions = 0
        self.path = self._folder / "policy.yaml"
        self.replace(text)
        self.path.symlink_to("..data/policy.yaml")

    def replace(self, text):
        self._versions += 1
        version = f"..version-{self._versions}"
        (self._folder / version).mkdir()
        (self._folder / version / "policy.yaml").write_text(text)
        (self._folder / "..data_tmp").symlink_to(version)
        os.replace(self._folder / "..data_tmp", self._folder / "..data")


class ReloadTest(Scenario):
    def test_x_a_file_replaced_under_load(self):
        """x: a policy file that is replaced counts at once, while pods are being bound"""
        path = self.policy_file(CLOSED)
        self._start(path)
        with self._load() as load:
            self._wait_forbidden("picky")
            other = path.with_suffix(".new")
            other.write_text(OPEN)
            os.replace(other, path)
            self.wait_bound("picky", 60)
            load.result()
        self.wait_settled(LOAD + 1)
        self._wait_reloads("loaded", 1)
        self.check_cluster()

    def test_x_a_config_map_swapped_under_load(self):
        """x: the same where the kubelet swaps the link of a mounted ConfigMap, and back"""
        with tempfile.TemporaryDirectory(prefix="snug-policy-") as folder:
            mounted = ConfigMap(folder, CLOSED)
            self._start(mounted.path)
            with self._load() as load:
                self._wait_forbidden("picky")
                mounted.replace(OPEN)
                self.wait_bound("picky", 60)
                mounted.replace(CLOSED)
                self._wait_reloads("loaded", 2)
                self._wait_forbidden("late")
                load.result()
            self.wait_settled(LOAD + 1, 1, "ForbiddenPolicy")
            self.check_cluster()

    def test_x_sighup(self):
        """x: SIGHUP reads the policy again and ends nothing"""
        path = self.policy_file(CLOSED)
        self._start(path)
        self._wait_forbidden("picky")
        path.write_text(OPEN)
        self.extender.hang_up()
        self.wait_bound("picky")
        self.extender.process.must_run()
        self._wait_reloads("loaded", 1)
        self.check_cluster()

    def test_x_a_broken_file_keeps_the_last_good_policy(self):
        """x: a file that is no policy changes nothing, and the log and a metric say so"""
        path = self.policy_file(OPEN)
        self._start(path)
        with self._load() as load:
            path.write_text(BROKEN)
            self.extender.hang_up()
            self._wait_reloads("refused", 1)
            self.assertRegex(self.extender.log(), r"policy\.yaml:3:1: ")
            self.place(pod("picky", PICKY))
            load.result()
        self.wait_settled(LOAD + 1)
        path.write_text(CLOSED)
        self.extender.hang_up()
        self._wait_reloads("loaded", 1)
        self._wait_forbidden("late")
        self.check_cluster()

    def _start(self, policy):
        self.start(policy=policy)
        self.post_nodes(*(gpu_node(f"n{number}", 8) for number in range(2)))

    def _load(self):
        return Load(self.post_pods, [share(f"pod-{number:03}", "0.05") for number in range(LOAD)])

    def _wait_forbidden(self, name):
        self.post_pods(pod(name, PICKY))
        self.wait_refused(name, "ForbiddenPolicy: ", 60)

    def _wait_reloads(self, result, count):
        wait_until(f"{count} reloads have ended with {result}",
                   lambda: self.extender.metric(RELOADS, result=result) >= count)


class Load:
    """Posts pods in the background; `with` gives what its result() ends with the last."""

    def __init__(self, post, pods):
        self._pool = concurrent.futures.ThreadPoolExecutor(1)
        self._posted = self._pool.submit(lambda: [post(each) for each in pods])

    def __enter__(self):
        return self._posted

    def __exit__(self, *_):
        self._pool.shutdown(cancel_futures=True)
