"""Scenarios p, q: several containers of one pod, each with its own request, and the pod is charged once."""

from harness import truth
from harness.objects import A100, gpu_node, pod, share
from harness.scenario import Scenario

LARGE = "NVIDIA-A100-SXM4-80GB"
H100 = "NVIDIA-H100-80GB-HBM3"


class ContainersTest(Scenario):
    def test_p_two_containers_with_different_shares(self):
        """p: a fraction for one container and memory for the other, both in flat annotations"""
        self.start()
        self.post_nodes(gpu_node("n1", 1))
        flat = truth.annotations(self.place(pod(
            "two", {"gpu-fraction.a": "0.25", "gpu-memory.b": "8G", "gpu-container": "b"},
            containers=("a", "b"))))
        given = self.given("two")
        self.assertEqual([(name, each["memoryMiB"], each["computeMilli"])
                          for name, [each] in given.items()], [("a", 10240, 250), ("b", 7630, 186)])
        for suffix, limit, percent in ((".a", "0=10240M", "25"), (".b", "0=7630M", "18"),
                                       ("", "0=7630M", "18")):
            self.assertEqual(flat["snug.dev/visible-devices" + suffix], given["a"][0]["uuid"])
            self.assertEqual(flat["snug.dev/memory-limit" + suffix], limit)
            self.assertEqual(flat["snug.dev/compute-percent" + suffix], percent)
        self.check_cluster()

    def test_p_containers_may_be_on_different_gpus(self):
        """p: two large shares of one pod are on two GPUs, and a third pod finds what is left"""
        self.start()
        self.post_nodes(gpu_node("n1", 2))
        self.place(pod("two", {"gpu-fraction.a": "0.6", "gpu-fraction.b": "0.7"},
                       containers=("a", "b")))
        given = self.given("two")
        self.assertNotEqual(given["a"][0]["index"], given["b"][0]["index"])
        self.post_pods(share("half", "0.5"))
        self.wait_refused("half", "NoRoom")
        self.place(share("rest", "0.4"))
        self.check_cluster()

    def test_p_a_restart_knows_every_container(self):
        """p: after a restart each container holds what it held"""
        self.start()
        self.post_nodes(gpu_node("n1", 2))
        self.place(pod("two", {"gpu-fraction.a": "0.6", "gpu-fraction.b": "1",
                               "gpu-fraction.warm": "0.3"},
                       containers=("a", "b"), init=("warm",)))
        self.check_cluster()
        self.extender.kill()
        self.extender.start()
        self.check_cluster()

    def test_q_an_init_container_uses_the_apps_gpu(self):
        """q: a plain init container has the app's GPU, and the pod is charged the larger of both"""
        self.start()
        self.post_nodes(gpu_node("n1", 2))
        self.place(share("other", "0.5"))
        self.place(pod("job", {"gpu-fraction": "0.25", "gpu-fraction.warm": "0.5"}, init=("warm",)))
        given = self.given("job")
        self.assertEqual(given["warm"][0]["index"], given["main"][0]["index"])
        self._assert_used("job", 20480, 500)
        self.check_cluster()

    def test_q_sidecars_count_beside_init_containers(self):
        """q: a sidecar counts beside the init containers that start after it, not before"""
        for order, used in ((("+side", "warm"), 600), (("warm", "+side"), 500)):
            with self.subTest(order=order):
                self.doCleanups()
                self.setUp()
                self.start()
                self.post_nodes(gpu_node("n1", 1))
                self.place(pod("job", {"gpu-fraction": "0.25", "gpu-fraction.warm": "0.5",
                                       "gpu-fraction.side": "0.1"}, init=order))
                self._assert_used("job", used * 40960 // 1000, used)
                left = 1000 - used
                self.post_pods(share("more", f"0.{left + 1}"))
                self.wait_refused("more", "NoRoom")
                self.place(share("fits", f"0.{left}"))
                self.check_cluster()

    def test_q_an_init_container_of_another_kind_is_malformed(self):
        """q: an init container that wants a whole GPU beside an app's share is Malformed"""
        self.start()
        self.post_nodes(gpu_node("n1", 2))
        self.post_pods(pod("odd", {"gpu-fraction": "0.25", "gpu-fraction.warm": "1"},
                           init=("warm",)))
        self.wait_refused("odd", "Malformed: ")
        self.assertIn("warm", self._why("odd"))
        self.check_cluster()

    def test_p_model_globs(self):
        """p: gpu-model takes and excludes models by globs, also within one pod"""
        self.start()
        self.post_nodes(gpu_node("large", 1, memory_mib=81920, model=LARGE),
                        gpu_node("small", 1, model=A100),
                        gpu_node("hopper", 1, memory_mib=81559, model=H100))
        wanted = {"gpu-model": "*A100*,!*80GB"}
        for name, asked in (("one", {"gpu-fraction": "0.25"}), ("two", {"gpu-memory": "30G"})):
            self.place(pod(name, {**asked, **wanted}))
            self.assertEqual(self.device(name)["node"], "small")
        self.post_pods(pod("three", {"gpu-fraction": "0.25", **wanted}))
        self.wait_refused("three", "1 NoRoom: ")
        self.assertIn("2 ModelExcluded: ", self._why("three"))
        self.place(pod("not-a100", {"gpu-fraction": "0.3", "gpu-model": "!*a100*"}))
        self.assertEqual(self.device("not-a100")["node"], "hopper")
        self.post_pods(pod("none", {"gpu-fraction": "0.1", "gpu-model": "Tesla-T4"}))
        self.wait_refused("none", "3 ModelExcluded: ")
        self.check_cluster()

    def _assert_used(self, name, memory_mib, milli):
        """All that is held on the GPU of the pod's app, by this pod and others, is in the ledger's
        sums; what this pod adds to the others' is looked at here."""
        index = self.given(name)["main"][0]["index"]
        gpu = self.ledger_gpu("n1", index)
        others = [each for each in gpu["holders"] if each["pod"] != name]
        self.assertEqual(gpu["usedMemoryMiB"] - sum(each["memoryMiB"] for each in others),
                         memory_mib)
        self.assertEqual(gpu["usedComputeMilli"] - sum(each["computeMilli"] for each in others),
                         milli)
