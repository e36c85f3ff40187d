"""Scenario a, continued: the steps of docs/how-to/agent.md and mps.md leave a node as it was before its agent came. The
objects are those of deploy/chart, and the commands are run as they stand there."""

import re

from harness import manifests
from harness.controllers import remove_workloads
from harness.helm import Helm
from harness.objects import A100, A100_MIB, inventory
from harness.processes import wait_until
from harness.scenario import NODES, PODS, pods_of
from agent_scenario import NAMESPACE, AgentScenario
from node_scenario import GPUS, NAME, SHOWN, is_running, share
from test_agent import all_gpus

PAGES = manifests.ROOT / "docs/how-to"
VALUES = ("agent.enabled=true", "agent.publishUsage=true", "mps.enabled=true", "agent.groups[0].name=mps",
          "agent.groups[0].modes={whole,mps}", "agent.groups[0].limits=mps", "agent.groups[0].dynamicMig=true")
SLICE, HALF, LEFT = "slice", "half", "left"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/snug/leases"


def blocks(page, heading):
    """The commands in this section of a page, block for block."""
    section = re.search(rf"^(#+) {heading}\n(.*?)(?=^#+ |\Z)", (PAGES / page).read_text(), re.M | re.S)[2]
    return re.findall(r"^ *```\n(.*?)^ *```$", section, re.M | re.S)


def block(page, heading, text):
    """The only block of the section that has the text."""
    [found] = [each for each in blocks(page, heading) if text in each]
    return found


class UninstallTest(AgentScenario):
    def give_gpus(self):
        self.make_gpus()
        self.admin.delete(f"{LEASES}/agent.{NAME}", missing_ok=True)  # of an agent of an earlier scenario
        self.state_gpus()

    def state_gpus(self):
        """By hand, as for nodes without an agent."""
        value = inventory(NAME, GPUS, A100_MIB, A100)
        for gpu, card in zip(value["gpus"], self.state.read()["cards"], strict=True):
            gpu["uuid"] = card["uuid"]
        self.set_inventory(NAME, value)

    def follow(self, commands):
        commands = re.sub(r"\bNODE\b", NAME, commands).replace("/var/run/cdi", str(self.node.folder / "cdi-specs"))
        commands = commands.replace("/run/nvidia/mps", str(self.node.folder / "mps"))
        code, text = self.kubectl.shell(commands, {}, 400)  # each waits for at most 5 minutes
        self.assertEqual(code, 0, f"{commands}\n{text}\n{self.agent_pods()}")

    def agent_pods(self):
        return {each["metadata"]["name"]: (each["status"], self.node.output(each, "agent")[-20:])
                for each in self.admin.list(pods_of(NAMESPACE))}

    def picture(self):
        """What an agent changes of a node."""
        node = self.admin.get(f"{NODES}/{NAME}")
        mps = self.node.folder / "mps"
        return {"labels": node["metadata"]["labels"], "annotations": node["metadata"]["annotations"],
                "spec": {key: node["spec"].get(key) for key in ("taints", "unschedulable")},
                "leases": [each["metadata"]["name"] for each in self.admin.list(LEASES)], "specs": self.specs(),
                "mps": sorted(map(str, mps.rglob("*"))) if mps.exists() else None, "cards": self.state.read()["cards"]}

    def try_containers(self):
        """What a container with a share sees, and one that asks for all GPUs."""
        self.create_pod("tried", {"gpu-fraction": "0.5"})
        self.admin.create(PODS, all_gpus("greedy"))
        tried, greedy = self.seen("tried"), self.seen("greedy")
        required = [key for key in self.pod("tried")["metadata"]["annotations"] if key.startswith("required-plugins")]
        for name in ("tried", "greedy"):
            self.delete_pod(name)
            wait_until("the pod is gone", lambda each=name: not self.admin.find(f"{PODS}/{each}"), 60)
        return [(seen.env["NVIDIA_VISIBLE_DEVICES"], seen.devices, seen.mounts) for seen in (tried, greedy)], required

    def install(self):
        """The chart's objects, with what the test's node needs."""
        self.addCleanup(remove_workloads, self.admin, (NAMESPACE,))
        objects = [each for each in Helm(self.plane).objects(*VALUES) if each["metadata"].get("namespace") == NAMESPACE
                   or each["metadata"]["name"] in ("snug-agent", NAMESPACE)]
        self.objects = [each for each in objects if each["kind"] != "ResourceQuota"]  # the pods have no priority class
        for value in sorted(self.objects, key=lambda each: each["kind"] != "Namespace"):
            if value["kind"] == "DaemonSet":
                if value["metadata"]["name"] == "snug-mps":
                    template = self.mps_template(value)
                else:
                    template = self.agent_template(value, f"--mps-root={self.node.folder / 'mps'}")
                template["spec"]["schedulerName"] = "snug"  # there is no other
                value["spec"]["template"] = template
            manifests.apply_object(self.admin, value)
        self.make_root_certificates()

    def create_owner(self, kind, name, annotations):
        value = share(name, annotations)
        labels = {"app": name}
        metadata = {"labels": labels, "annotations": value["metadata"]["annotations"]}
        spec = {"selector": {"matchLabels": labels}, "template": {"metadata": metadata, "spec": value["spec"]}}
        path = f"/apis/apps/v1/namespaces/default/{kind.lower()}s"
        self.admin.create(path, {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
        return f"{path}/{name}"

    def remove_owner(self, path, name):
        """Its controller may make pods until it has seen that it is gone, and no garbage collector runs here."""
        def without_pods():
            for each in self.pods_like(name):
                self.admin.delete(f"{PODS}/{each['metadata']['name']}", missing_ok=True)
            return not self.pods_like(name)
        self.admin.delete(path, propagationPolicy="Background")
        wait_until(f"the pods of {name} are gone", without_pods, 60)

    def pods_like(self, name):
        return [each for each in self.pods() if each["metadata"].get("labels", {}).get("app") == name]

    def wait_runs(self, name):
        """Its only pod."""
        def running():
            found = self.pods_like(name)
            return len(found) == 1 and found[0]["status"].get("containerStatuses") and is_running(found[0]) and found[0]
        try:
            return wait_until("", running, 90)
        except TimeoutError:
            self.fail(f"{name} does not run: {self.pods_like(name)}; {self.agent_pods()}")

    def use(self):
        """Runs a container with a slice that the agent makes, and two under MPS; returns the paths of their owners."""
        owners = [self.create_owner("ReplicaSet", SLICE, {"gpu-mig-profile": "1g.5gb"}),
                  self.create_owner("ReplicaSet", HALF, {"gpu-fraction": "0.5", "gpu-isolation": "mps"}),
                  self.create_owner("DaemonSet", LEFT, {"gpu-fraction": "0.25", "gpu-isolation": "mps"})]
        for name in (SLICE, HALF, LEFT):
            self.wait_runs(name)
        used = self.picture()
        self.assertEqual(len(used["cards"][0]["instances"]), 1)
        self.assertTrue(used["mps"])
        self.assertEqual(len(used["specs"]), 3)
        self.assertIn("agent." + NAME, used["leases"])
        wait_until("the usage is published", lambda: "snug.dev/usage" in self.picture()["annotations"], 20)
        return owners

    def switch_on(self):
        self.follow(block("agent.md", "Install", "kubectl drain"))
        self.make_capabilities(0)
        self.follow(block("mps.md", "Switch it on", "kubectl drain"))
        self.state.enable_mig(0)  # nvidia-smi -i 0 -mig 1
        wait_until("the agent of the group has written the inventory", lambda: self.inventory().get("dynamicMig")
                   and self.inventory().get("limits") == "mps" and self.inventory()["gpus"][0].get("mig"), 90)
        self.wait_enforced()
        self.wait_agent_ready()
        self.follow("kubectl uncordon NODE")

    def switch_off(self, owners):
        """Step 1 of the page, but that a pod of a DaemonSet stays."""
        self.follow(block("agent.md", "Uninstall", "kubectl drain"))
        for path, name in zip(owners[:2], (SLICE, HALF), strict=True):
            self.remove_owner(path, name)
        commands, on_the_node = blocks("mps.md", "Switch it off")
        self.follow(commands)
        wait_until("snug-mps is gone", lambda: not [
            each for each in self.admin.list(pods_of(NAMESPACE)) if each["metadata"]["name"].startswith("snug-mps")], 60)
        unmount, remove, _ = on_the_node.strip().split("\n")
        self.assertEqual(unmount.split()[0], "umount")  # no container here may mount it where the node sees it
        self.follow(remove)
        self.assertEqual(len(self.picture()["cards"][0]["instances"]), 1)
        with self.state.change() as state:  # nvidia-smi mig -dci && nvidia-smi mig -dgi; nvidia-smi -i 0 -mig 0
            state["cards"][0].update(mig=False, instances=[])
        wait_until("the other agent has written the inventory", lambda: not self.inventory().get("dynamicMig")
                   and not self.inventory()["gpus"][0].get("mig"), 90)
        self.wait_agent_ready()

    def test_a_uninstalling(self):
        """a: after the steps of the page a node is as it was; a pod that was not drained is refused from then on"""
        before, saw = self.picture(), self.try_containers()
        self.assertEqual(before, self.picture())
        self.start_controllers()
        self.install()
        self.switch_on()
        owners = self.use()
        self.switch_off(owners)
        self.follow(block("agent.md", "Uninstall", "snug.dev/agent-"))
        self.left_is_refused()
        self.remove_owner(owners[2], LEFT)
        self.state_gpus()
        self.follow("kubectl uncordon NODE")
        for value in reversed(self.objects):
            if value["kind"] != "Namespace":
                self.admin.delete(manifests.path_of(value), missing_ok=True)
        # That of the container that ran when the agent ended, perhaps also of pods whose end the runtime told no agent.
        self.assertTrue(any(self.left_uid in each for each in self.specs()), self.specs())
        self.follow(block("agent.md", "Uninstall", "rm -f"))
        self.wait_shown(SHOWN)
        self.maxDiff = None
        self.assertEqual(self.picture(), before)
        self.assertEqual(self.try_containers(), saw)
        self.check_cluster()

    def left_is_refused(self):
        """Its container runs without the agent; once it has ended the runtime makes no other."""
        left = self.wait_runs(LEFT)
        self.left_uid = left["metadata"]["uid"]
        [status] = left["status"]["containerStatuses"]
        self.node.kill_container(status["containerID"])
        self.wait_waiting(left["metadata"]["name"], 'required plugin "snug" not present')
