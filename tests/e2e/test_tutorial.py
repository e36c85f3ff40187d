"""Scenario t: the commands of docs/tutorial/cluster.md print what the page says. No kubelet runs here, so what needs
images and running containers is left out, and the two programs of Snug's pod are started beside the API server."""

import itertools
import re

from harness import webhook
from harness.admission import scheduler_of
from harness.controllers import ControllerManagers
from harness.extender import Extender
from harness.installed import SNUG, InstalledScenario, start_scheduler
from harness.manifests import ROOT
from harness.objects import bare_node
from harness.processes import wait_until
from harness.scenario import NODES, PODS, bind_by_hand

PAGE = ROOT / "docs/tutorial/cluster.md"
# A block of commands, and what the page says that it prints.
STEP = re.compile(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)
HOLDER = 6 * " "  # how a line of a pod on a GPU begins
NEEDS_A_NODE = ("kind ", "docker ", "kubectl -n snug rollout ")
CONTROL, WORKERS = "snug-control-plane", ("snug-worker", "snug-worker2")


def sorted_holders(text):
    """`text` with the pods of each GPU by name: they are shown as they were bound, and kube-scheduler binds several at a time."""
    runs = itertools.groupby(text.splitlines(keepends=True), lambda line: line.startswith(HOLDER))
    return "".join(line for are_holders, run in runs for line in (sorted(run) if are_holders else run))


class TutorialTest(InstalledScenario):
    def setUp(self):
        super().setUp()
        control = bare_node(CONTROL)
        control["spec"] = {"taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]}
        self.admin.create_all(NODES, [control, *map(bare_node, WORKERS)])
        ControllerManagers(self.plane).start(("serviceaccount-token", "deployment", "replicaset"))

    def test_t_the_commands_print_what_the_page_says(self):
        """t: the commands of the tutorial, in the page's order"""
        steps = [(commands, said) for commands, said in STEP.findall(PAGE.read_text())
                 if not commands.startswith(NEEDS_A_NODE)]
        self.assertGreater(len(steps), 8)
        for commands, said in steps:
            if deleted := re.fullmatch(r"kubectl delete pod (\S+) --now\n", commands):
                self.admin.delete(f"{PODS}/{deleted[1]}", gracePeriodSeconds=0)  # a kubelet would end it
                continue
            printed = self._run(commands)
            if said:
                self.assertEqual(sorted_holders(printed), sorted_holders(said), commands)
            if "helm install" in commands:
                self._start_snug()

    def _run(self, commands):
        """What the shell prints, with helm, kubectl and its plug-in in the path."""
        script = (f'helm() {{ "$HELM" "$@"; }}\ncd {self.plane.folder}\n[[ -e deploy ]] || ln -s "$TOP/deploy" .\n'
                  + re.sub(r"^(kubectl snug .*)$", rf"\1 --server {self.server}", commands, flags=re.M))
        code, text = self.kubectl.shell(script, {"HELM": self.helm.program, "TOP": str(ROOT)})
        self.assertEqual(code, 0, text)
        return text

    @property
    def server(self):
        """No port-forward without a kubelet; tests/node has one."""
        return f"http://127.0.0.1:{self.extender.admin_port}" if self.extender else ""

    def _start_snug(self):
        own = wait_until("pods are made", lambda: self.admin.list(f"{SNUG}/pods"))[0]["metadata"]
        bind_by_hand(self.admin, own["name"], CONTROL, "snug")  # Snug wakes waiting pods by a change of its own
        self.extender = Extender(
            self.plane, self.plane.extender_kubeconfig(),
            {"scheduler-lease": "snug/snug-scheduler", "kubernetes-minor": self.plane.minor,
             **(webhook.flags() if self.by_webhook else {})},
            {"POD_NAME": own["name"], "POD_NAMESPACE": "snug", "POD_UID": own["uid"]}, own["name"])
        self.plane.release_lease()
        self.extender.start(wait_ready=False)
        start_scheduler(self.plane, self.extender.port, own["name"])
        if self.by_webhook:
            webhook.unregister(self.admin)  # the chart's has the address of a Service
            webhook.register(self.admin, self.extender.webhook_port)
        wait_until("admission completes pods", lambda: scheduler_of(self.admin) == "snug")
