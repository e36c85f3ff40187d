"""Scenarios mig: slices that NVIDIA's device plug-in offers, and layouts that change."""

from harness import mig, truth
from harness.objects import gpu_node, kubelet_pod, pod, share
from harness.processes import wait_until
from harness.scenario import NODES, PODS, Scenario, pods_of

SMALL, MIDDLE, LARGE = (mig.resource(each) for each in ("1g.5gb", "2g.10gb", "3g.20gb"))
CAP_FOR_A = """
version: 1
default: stack
profiles:
  stack: {terms: [{term: best-fit, weight: 1}]}
sharing:
- {namespaces: [team-a], capMilli: 1000}
"""
# Half of the GPUs in a layout that no configuration of mig-parted's has, half of them whole.
CUSTOM = [{"4g.20gb": 1, "2g.10gb": 1, "1g.5gb": 1}] * 4 + [mig.WHOLE] * 4


class MigStaticTest(Scenario):
    def test_mig_all_of_the_smallest_slices(self):
        """mig: of 100 pods that limit a 1g.5gb each, a p4d in all-1g.5gb takes 56; no annotated"""
        self._start(mig.layout_of("all-1g.5gb"))
        self._post(SMALL, 100)
        self.wait_settled(56, 44, f"Insufficient {SMALL}")
        self._check({SMALL: 56})
        self.post_pods(share("part", "0.1"))
        self.wait_refused("part", "WrongMode: ")
        self.delete_pod(next(iter(self._bound(SMALL))))
        self.wait_settled(56, 43, f"Insufficient {SMALL}")
        self._check({SMALL: 56})

    def test_mig_one_slice_is_unhealthy(self):
        """mig: with one slice unhealthy 55 of 100 are taken, and the 56th when it is well again"""
        operator = self._start(mig.layout_of("all-1g.5gb"))
        operator.set_allocatable(SMALL, 55)
        self._post(SMALL, 100)
        self.wait_settled(55, 45, f"Insufficient {SMALL}")
        self._check({SMALL: 55})
        operator.set_allocatable(SMALL, 56)
        self.wait_settled(56, 44, f"Insufficient {SMALL}")
        self._check({SMALL: 56})

    def test_mig_balanced(self):
        """mig: in all-balanced 16, 8 and 8 of 20 pods each of 1g.5gb, 2g.10gb and 3g.20gb"""
        self._start(mig.layout_of("all-balanced"))
        for resource in (SMALL, MIDDLE, LARGE):
            self._post(resource, 20)
        self.wait_settled(32, 28, "Insufficient nvidia.com/mig-")
        self._check({SMALL: 16, MIDDLE: 8, LARGE: 8})

    def test_mig_relabelled(self):
        """mig: pods wait while the layout changes, and are bound in the new ones when it has"""
        operator = self._start(mig.layout_of("all-balanced"))
        self._post(SMALL, 20)
        self.wait_settled(16, 4, f"Insufficient {SMALL}")
        self._scale_to_0()

        operator.ask("all-3g.20gb")
        operator.state("pending")
        self._wait_closed('nvidia.com/mig.config.state is "pending"')
        self._post(SMALL, 1)
        self.wait_refused(self._name(SMALL, 0), "Reconfiguring: ")
        self._post(LARGE, 20)
        self.post_pods(share("part", "0.1"))
        self.wait_refused("part", "Reconfiguring: ")
        operator.stop_plugin()
        self._wait_told(self._name(SMALL, 0))
        operator.state("success")
        layout = mig.layout_of("all-3g.20gb")
        operator.start_plugin(layout)
        self._wait_closed(f"16 {LARGE}, but its labels say 8")
        self.wait_settled(0, 21, "BadInventory: ")
        operator.discover(layout)
        self._wait_bound(LARGE, 16)
        self.wait_refused("part", "WrongMode: ")
        self._check({LARGE: 16})

        self._scale_to_0()
        operator.relabel("custom", CUSTOM)
        four = mig.resource("4g.20gb")
        self._post(four, 5)
        self._post(SMALL, 5)
        self.post_pods(*(kubelet_pod(f"gpu-{number}") for number in range(5)))
        self.wait_settled(12, 3, "Insufficient nvidia.com/")
        self._check({four: 4, SMALL: 4, mig.GPU: 4})

        self._scale_to_0()
        operator.relabel("all-disabled", mig.layout_of("all-disabled"))
        self.place(share("part", "0.5"))
        self.check_cluster()

    def _wait_told(self, name):
        """kube-scheduler refuses the pod itself, for want of its resource, and Snug says why."""
        self.wait_refused(name, "Insufficient ")
        wait_until("GET /v1/pods says why", lambda: (self.ledger_pod(name) or {}).get(
            "reason", "").startswith("Reconfiguring: "))
        uid = self.pod(name)["metadata"]["uid"]
        wait_until("an event says so", lambda: self.warning(uid, "MigReconfiguring"))

    def test_mig_a_change_that_fails(self):
        """mig: a layout that could not be applied takes no new pods, and its holders stay counted"""
        operator = self._start(mig.layout_of("all-1g.5gb"))
        self._post(SMALL, 3)
        self.wait_settled(3)
        for state in ("pending", "rebooting", "failed"):
            operator.state(state)
            self._wait_closed(f'nvidia.com/mig.config.state is "{state}"')
        self._post(SMALL, 1, "late")
        self.wait_refused("late-0", "Reconfiguring: ")
        self._check({SMALL: 3})
        operator.state("success")
        self.wait_bound("late-0")
        self._check({SMALL: 4})

    def test_mig_a_node_with_an_inventory(self):
        """mig: while the layout of a node with an inventory changes, annotated pods wait too"""
        self.start()
        self.post_nodes(gpu_node("n1", 2))
        self.place(share("first", "0.5"))
        operator = mig.Operator(self.admin, "n1")
        operator.state("rebooting")
        self._wait_closed('nvidia.com/mig.config.state is "rebooting"')
        self.post_pods(share("waits", "0.25"))
        self.wait_refused("waits", "Reconfiguring: ")
        self.check_cluster()
        operator.state("success")
        self.wait_bound("waits")
        self.check_cluster()

    def test_mig_single(self):
        """mig: under single nvidia.com/gpu is a slice, and a layout that it cannot serve closes"""
        operator = self._start(mig.layout_of("all-1g.5gb"), "single")
        self._post(mig.GPU, 60)
        self.wait_settled(56, 4, f"Insufficient {mig.GPU}")
        self._check({mig.GPU: 56})
        self.post_pods(share("part", "0.1"))
        self.wait_refused("part", "WrongMode: ")

        self._scale_to_0()
        operator.discover(mig.layout_of("all-balanced"))
        self._wait_closed("-MIG-INVALID")
        self._post(mig.GPU, 20)
        self.wait_settled(0, 20, "BadInventory: ")
        operator.relabel("all-3g.20gb", mig.layout_of("all-3g.20gb"))
        self.wait_settled(16, 4, f"Insufficient {mig.GPU}")
        self._check({mig.GPU: 16})

        self._scale_to_0()
        operator.relabel("all-disabled", mig.layout_of("all-disabled"))
        self._post(mig.GPU, 9)
        self.wait_settled(8, 1, f"Insufficient {mig.GPU}")
        self._check({mig.GPU: 8})

    def test_mig_slices_count_towards_a_cap(self):
        """mig: of a cap of one GPU seven slices of 1g.5gb are taken, 142 thousandths each"""
        self._start(mig.layout_of("all-1g.5gb"), policy=self.policy_file(CAP_FOR_A))
        self.post_pods(*(pod(f"pod-{number}", limits={SMALL: "1"}, namespace="team-a")
                         for number in range(9)))
        self.wait_settled(7, 2, "CapReached: ", namespace="team-a")
        self.check_cluster()

    # Steps.

    def _start(self, layout, strategy="mixed", **options):
        """One node, `p4d`, in that layout; returns who changes it."""
        self.start(**options)
        self.post_nodes(mig.p4d("p4d", layout, strategy))
        return mig.Operator(self.admin, "p4d", strategy)

    @staticmethod
    def _name(resource, number):
        return f"{resource.partition('/')[2].replace('.', '-')}-{number}"

    def _post(self, resource, count, name=None):
        """Pods that limit one of the resource each, as a ReplicaSet would make them."""
        self.post_pods(*(pod(f"{name}-{number}" if name else self._name(resource, number),
                             limits={resource: "1"}) for number in range(count)))

    def _scale_to_0(self):
        self.admin.delete(PODS)
        wait_until("the pods are gone", lambda: not self.pods())
        wait_until("the ledger has none", lambda: not [
            row for row in self.extender.pods() if row["namespace"] == "default"])

    def _wait_closed(self, text):
        [node] = [each["metadata"]["name"] for each in self.admin.list(NODES)
                  if each["metadata"]["name"] != "control"]
        wait_until(f"{node} is closed with {text!r}",
                   lambda: text in (self.ledger_node(node)["closed"] or ""))

    def _wait_bound(self, resource, count):
        wait_until(f"{count} pods have {resource}", lambda: len(self._bound(resource)) == count, 120)

    def _bound(self, resource):
        """name -> bound pod that limits the resource."""
        return {each["metadata"]["name"]: each for each in self.admin.list(pods_of("default"))
                if truth.is_bound(each)
                and resource in each["spec"]["containers"][0]["resources"]["limits"]}

    def _check(self, counts):
        """So many pods have each resource, each by a reservation of its own, and the ledger has
        the same."""
        self.check_cluster()
        held = []
        for resource, count in counts.items():
            bound = self._bound(resource)
            self.assertEqual(len(bound), count, resource)
            for name, each in bound.items():
                uid = each["metadata"]["uid"]
                self.assertEqual(truth.reservation(each), {
                    "version": 1, "uid": uid, "node": "p4d", "containers": [
                        {"name": "main", "request": f"{resource}=1", "assignedBy": "kubelet",
                         "resource": resource, "count": 1}]})
                held.append(("default", name, uid, "main", resource, 1))
        node = self.ledger_node("p4d")
        self.assertEqual(sorted(tuple(each[key] for key in truth.Count._fields)
                                for each in node["kubeletAssigned"]), sorted(held))
        self.assertFalse(any(gpu["holders"] for gpu in node["gpus"]))
