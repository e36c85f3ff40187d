"""deploy/ without a cluster: the files that the kustomization names exist, the image has what the program
loads. The alerts: alerts_test.py. With an API server: tests/e2e/test_deploy.py."""

import itertools
import json
import re
import shutil
import tempfile
import unittest
import urllib.request
from pathlib import Path

import jsonschema
import yaml

from programs import AGENT, EXTENDER, MPS, ROOT, SNUGCTL, run, start_extender

DEPLOY = ROOT / "deploy"
HOW_TO = ROOT / "docs/how-to"
SHAPES = ("dedicated.yaml", "shared-extender.yaml")
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"  # where a program in a pod looks for its token


def documents(path):
    return [value for value in yaml.safe_load_all(path.read_text()) if value]


def deployed_images():
    [deployment] = [value for value in documents(DEPLOY / "dedicated.yaml") if value["kind"] == "Deployment"]
    return {container["image"].rpartition(":")[0]: container["image"].rpartition(":")[2]
            for container in deployment["spec"]["template"]["spec"]["containers"]}



def request_keys():
    keys = re.findall(r'\{\.name = "(gpu-[a-z-]+)"', (ROOT / "src/request/annotation_keys.cpp").read_text())
    assert len(keys) > 10, keys
    return keys


class KustomizationTest(unittest.TestCase):
    def setUp(self):
        [self.kustomization] = documents(DEPLOY / "kustomization.yaml")

    def test_it_has_only_keys_that_kustomize_knows(self):
        self.assertEqual(set(self.kustomization),
                         {"apiVersion", "kind", "resources", "images", "configMapGenerator"})

    def test_every_file_is_there(self):
        generated = [name for each in self.kustomization["configMapGenerator"] for name in each["files"]]
        for name in self.kustomization["resources"] + generated:
            self.assertTrue((DEPLOY / name).is_file(), name)

    def test_every_image_of_the_deployment_can_be_replaced(self):
        named = {image["name"]: image["newTag"] for image in self.kustomization["images"]}
        self.assertEqual(named, deployed_images())

    def test_what_the_deployment_mounts_is_generated(self):
        kinds = documents(DEPLOY / "dedicated.yaml")
        [deployment] = [value for value in kinds if value["kind"] == "Deployment"]
        made = {value["metadata"]["name"] for value in kinds if value["kind"] == "ConfigMap"}
        made |= {each["name"] for each in self.kustomization["configMapGenerator"]}
        named = {volume["configMap"]["name"] for volume in deployment["spec"]["template"]["spec"]["volumes"]
                 if "configMap" in volume}
        self.assertEqual(named, made)

    def test_the_scheduler_is_the_one_that_is_tested(self):
        module = (ROOT / "tests/e2e/controlplane/kubernetes/go.mod").read_text()
        tested = re.search(r"k8s\.io/kubernetes (v[\d.]+)", module)[1]
        self.assertEqual(deployed_images()["registry.k8s.io/kube-scheduler"], tested)
        minor = tested.split(".")[1]
        for name in SHAPES:
            self.assertIn(f"--kubernetes-minor={minor}\n", (DEPLOY / name).read_text())


class AdmissionTest(unittest.TestCase):
    def test_only_the_dedicated_shape_wants_its_scheduler(self):
        [kustomization] = documents(DEPLOY / "kustomization.yaml")
        [shared] = re.findall(r"kubectl apply -f deploy/rbac\.yaml (.*\n.*)", (HOW_TO / "install-shared.md").read_text())
        self.assertIn("admission-dedicated.yaml", kustomization["resources"])
        self.assertEqual(re.findall(r"deploy/(\S+)", shared), [
            "admission-policy.yaml", "admission-pods.yaml", "admission-devices.yaml", "node-capacity.yaml",
            "mirror-parameters.yaml"])

    def test_the_shared_shape_refuses_what_its_scheduler_does_not_manage(self):
        """A resource in the policy alone would let pods in about which Snug is not asked."""
        [config] = documents(DEPLOY / "shared-scheduler-config.yaml")
        [extender] = config["extenders"]
        managed = extender["managedResources"]
        self.assertEqual([each for each in managed if each["ignoredByScheduler"] is not False], [])
        [policy, _] = documents(DEPLOY / "admission-shared.yaml")
        [known] = [each["expression"] for each in policy["spec"]["variables"] if each["name"] == "managed"]
        self.assertEqual(re.findall(r"'([^']*)'", known), [each["name"] for each in managed])
        self.assertEqual(re.findall(r"'([^']*)'", known)[:2], ["snug.dev/gpu-milli", "snug.dev/gpu-memory-mib"])

    def test_every_policy_knows_the_keys_of_the_program(self):
        keys = request_keys()
        files = sorted(path.name for path in DEPLOY.glob("admission-*.yaml"))
        self.assertGreater(len(files), 3)
        for name in files:
            searches = re.findall(r"findAll\('(gpu-[^']*)'\)", (DEPLOY / name).read_text())
            for search, key in itertools.product(searches, keys):
                # gpu-policy alone asks for nothing.
                if key != "gpu-policy" or "[cfimp]" in search:
                    self.assertRegex(key, search.replace("\\\\", "\\"), name)
        # The program writes the first, and the second calls it.
        for name in set(files) - {"admission-gpu-pods.yaml", "admission-webhook.yaml"}:
            [policy] = [value for value in documents(DEPLOY / name) if value["kind"] == "ValidatingAdmissionPolicy"]
            [known] = [each["expression"] for each in policy["spec"]["variables"] if each["name"] == "requestKeys"]
            self.assertEqual(sorted(re.findall(r"'([^']*)'", known)), sorted(keys), name)

    def test_the_search_for_texts_finds_the_operators_key(self):
        [policy, _] = documents(DEPLOY / "admission-policy.yaml")
        [key] = [each["expression"].strip("'") for each in policy["spec"]["variables"]
                 if each["name"] == "tolerateKey"]
        [condition] = policy["spec"]["matchConditions"]
        words = re.findall(r"'([^']*)'", re.search(r"\[([^]]*)\]\.exists\(word", condition["expression"])[1])
        self.assertTrue(any(word in key for word in words), words)
        self.assertLessEqual(max(map(len, words)), 10)
        self.assertLessEqual(len(words), 5)


class WebhookTest(unittest.TestCase):
    def setUp(self):
        self.objects = documents(DEPLOY / "admission-webhook.yaml")
        self.page = (HOW_TO / "complete-pods.md").read_text()

    def _only(self, kind):
        [value] = [value for value in self.objects if value["kind"] == kind]
        return value

    def test_its_port_is_the_one_of_the_page(self):
        port = re.search(r"--webhook-listen=0\.0\.0\.0:(\d+)", self.page)[1]
        self.assertIn(f"containerPort: {port}}}", self.page)
        [service] = self._only("Service")["spec"]["ports"]
        [ingress] = self._only("NetworkPolicy")["spec"]["ingress"]
        self.assertEqual([str(service["targetPort"]), str(ingress["ports"][0]["port"])], [port] * 2)

    def test_both_configurations_call_the_service(self):
        service = self._only("Service")["metadata"]
        for kind, path in (("Mutating", "/mutate"), ("Validating", "/validate")):
            for webhook in self._only(f"{kind}WebhookConfiguration")["webhooks"]:
                self.assertEqual(webhook["clientConfig"], {"service": {
                    "name": service["name"], "namespace": service["namespace"], "path": path,
                    "port": 443}})
                self.assertEqual(webhook["sideEffects"], "None")

    def test_only_updates_may_pass_unseen(self):
        passing = [rule["operations"] for kind in ("Mutating", "Validating")
                   for webhook in self._only(f"{kind}WebhookConfiguration")["webhooks"]
                   for rule in webhook["rules"] if webhook["failurePolicy"] != "Fail"]
        self.assertEqual(passing, [["UPDATE"], ["UPDATE"]])

    def test_they_ask_about_the_pods_that_the_policy_changes(self):
        policies = {value["metadata"]["name"]: value["spec"]["matchConditions"]
                    for value in documents(DEPLOY / "admission-gpu-pods.yaml")
                    if value["kind"] == "MutatingAdmissionPolicy"}
        policy = [each for each in policies["snug-gpu-pods"] if each["name"] != "may-lack-something"]
        mutating, keeping = self._only("MutatingWebhookConfiguration")["webhooks"]
        validating, updates = self._only("ValidatingWebhookConfiguration")["webhooks"]
        words = re.findall(r"'(gpu-[^']*)'", mutating["matchConditions"][0]["expression"])
        self.assertEqual([key for key in request_keys() if not any(word in key for word in words)], [])
        self.assertLessEqual(max(map(len, words)), 10, "longer words cost more")
        self.assertEqual([each["name"] for each in mutating["matchConditions"]],
                         [each["name"] for each in policy])
        self.assertEqual(mutating["matchConditions"][1:], policy[1:])
        self.assertEqual(validating["matchConditions"], mutating["matchConditions"])
        self.assertEqual(updates["matchConditions"][1:], mutating["matchConditions"])
        self.assertEqual(keeping["matchConditions"], policies["snug-gpu-tolerations"])

    def test_it_may_write_nothing_else(self):
        header = (ROOT / "include/snug/codec/webhook_objects.hpp").read_text()
        secret, configuration = re.findall(r'kWebhook\w+ = "([\w-]+)"', header)
        self.assertEqual(self._only("Secret")["metadata"]["name"], secret)
        self.assertNotIn("data", self._only("Secret"))
        self.assertEqual([rule["resourceNames"] for rule in self._only("Role")["rules"]], [[secret]])
        for rule in self._only("ClusterRole")["rules"]:
            self.assertEqual(rule["resourceNames"], [configuration])


class SchedulerTest(unittest.TestCase):
    def test_it_asks_by_every_verb(self):
        """Without preemptVerb kube-scheduler would look for victims by CPU and memory alone."""
        for name in ("scheduler-config.yaml", "shared-scheduler-config.yaml"):
            [config] = documents(DEPLOY / name)
            [extender] = config["extenders"]
            for verb in ("filter", "prioritize", "preempt", "bind"):
                self.assertEqual(extender[verb + "Verb"], verb, name)
            self.assertFalse(extender["ignorable"], name)

    def test_it_waits_for_the_three_calls_of_a_bind(self):
        defaults = (ROOT / "include/snug/service/service_options.hpp").read_text()
        api_timeout = int(re.search(r"api_timeout\{(\d+)\}", defaults)[1])
        for name in SHAPES:
            self.assertNotIn("--api-timeout", (DEPLOY / name).read_text())
        for name in ("scheduler-config.yaml", "shared-scheduler-config.yaml"):
            [config] = documents(DEPLOY / name)
            [extender] = config["extenders"]
            waits = int(re.fullmatch(r"(\d+)s", extender["httpTimeout"])[1]) * 1000
            self.assertGreater(waits, 3 * api_timeout, name)


class ExtenderTest(unittest.TestCase):
    def test_every_flag_is_the_programs_and_every_file_is_mounted(self):
        known = set(re.findall(r"--[\w-]+", run(EXTENDER, "--help").stdout))
        for name in SHAPES:
            for owner in documents(DEPLOY / name):
                if owner["kind"] not in ("Deployment", "DaemonSet"):
                    continue
                [container] = [each for each in owner["spec"]["template"]["spec"]["containers"]
                               if each["name"] == "extender"]
                mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
                flags = dict(each.split("=", 1) for each in container["args"])
                self.assertLessEqual(set(flags), known, name)
                folders = {str(Path(value).parent) for value in flags.values() if value.startswith("/")}
                self.assertEqual(folders, mounts - {ACCOUNT}, name)

    def test_each_container_of_the_pod_has_the_token_of_its_own_account(self):
        kinds = documents(DEPLOY / "dedicated.yaml")
        [spec] = [value["spec"]["template"]["spec"] for value in kinds if value["kind"] == "Deployment"]
        self.assertIs(spec["automountServiceAccountToken"], False)
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        mounted = {container["name"]: volumes[mount["name"]] for container in spec["containers"]
                   for mount in container["volumeMounts"] if mount["mountPath"] == ACCOUNT}
        secret = mounted["extender"]["secret"]
        [token] = [value for value in kinds if value["kind"] == "Secret"]
        self.assertEqual(token["metadata"]["name"], secret["secretName"])
        self.assertEqual(token["type"], "kubernetes.io/service-account-token")
        self.assertEqual(token["metadata"]["annotations"], {"kubernetes.io/service-account.name": "snug-extender"})
        self.assertEqual(spec["serviceAccountName"], "snug-scheduler")
        projected = [source for each in mounted["scheduler"]["projected"]["sources"] for source in each]
        self.assertIn("serviceAccountToken", projected)
        # The user of the containers is in the group that may read the files.
        self.assertEqual(spec["securityContext"]["fsGroup"], spec["securityContext"]["runAsGroup"])
        self.assertEqual((secret["defaultMode"], mounted["scheduler"]["projected"]["defaultMode"]), (0o440, 0o440))

    def test_the_shared_shape_listens_where_its_scheduler_asks(self):
        [config] = documents(DEPLOY / "shared-scheduler-config.yaml")
        [extender] = config["extenders"]
        place = extender["urlPrefix"].removeprefix("https://")
        self.assertIn(f"--listen={place}\n", (DEPLOY / "shared-extender.yaml").read_text())
        self.assertIn(f"DNS:{extender['tlsConfig']['serverName']}\\n", (HOW_TO / "install-shared.md").read_text())


class AgentTest(unittest.TestCase):
    def setUp(self):
        [daemon_set] = [value for value in documents(DEPLOY / "agent.yaml") if value["kind"] == "DaemonSet"]
        self.template = daemon_set["spec"]["template"]
        self.pod = self.template["spec"]
        self.agent, self.probe = self.pod["containers"]

    def test_the_probe_has_no_rights(self):
        self.assertFalse(self.pod["automountServiceAccountToken"])
        self.assertFalse({"volumeMounts", "ports"} & set(self.probe))
        self.assertEqual(self.probe["securityContext"], {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "runAsNonRoot": True, "runAsUser": 65532,
            "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}})
        self.assertFalse({"hostNetwork", "hostIPC"} & set(self.pod))

    def test_the_probe_requires_a_plugin_that_is_there_later(self):
        required = self.template["metadata"]["annotations"][f"required-plugins.noderesource.dev/container.{self.probe['name']}"]
        service = (ROOT / "include/snug/agent/required_plugins.hpp").read_text()
        [container, plugin] = [re.search(rf'{name} = "([^"]+)"', service)[1] for name in ("kProbeContainer", "kProbePlugin")]
        self.assertEqual((self.probe["name"], json.loads(required)), (container, [plugin]))

    def test_it_writes_to_three_folders_of_the_host(self):
        paths = {volume["name"]: volume["hostPath"]["path"] for volume in self.pod["volumes"] if "hostPath" in volume}
        writable = {paths[mount["name"]] for mount in self.agent["volumeMounts"]
                    if mount["name"] in paths and not mount.get("readOnly")}
        self.assertEqual(writable, {"/var/run/nri", "/var/run/cdi", "/run/nvidia/mps"})

    def test_its_flags_are_the_programs(self):
        known = set(re.findall(r"(--[a-z-]+)", run(AGENT, "--help").stdout))
        page = (HOW_TO / "agent.md").read_text()
        named = set(re.findall(r"[`\[ ](--(?:exempt|modes|driver-root|host-root|probe)\b)", page))
        for flag in {argument.split("=")[0] for each in (self.agent, self.probe) for argument in each["args"]} | named:
            self.assertIn(flag, known)
        self.assertGreater(len(named), 2)


class GateTest(unittest.TestCase):
    def test_it_has_one_folder_of_the_host_and_no_other_right(self):
        [daemon_set] = documents(DEPLOY / "agent-gate.yaml")
        pod = daemon_set["spec"]["template"]["spec"]
        [container], [volume] = pod["containers"], pod["volumes"]
        [argument], [mount] = container["args"], container["volumeMounts"]
        self.assertEqual(argument, f"--install={mount['mountPath']}/plugins")  # it writes beside that folder first
        self.assertEqual((mount["mountPath"], volume["hostPath"]["path"]), ("/opt/nri", "/opt/nri"))
        self.assertFalse(pod["automountServiceAccountToken"])
        self.assertFalse({"hostPID", "hostNetwork", "hostIPC"} & set(pod))
        self.assertEqual(container["securityContext"], {
            "runAsUser": 0, "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}})


class InstallPageTest(unittest.TestCase):
    def test_its_inventory_is_one(self):
        text = re.search(r"snug\.dev/inventory='([^']*)'", (HOW_TO / "install.md").read_text())[1]
        schema = json.loads((ROOT / "api/inventory.schema.json").read_text())
        jsonschema.Draft202012Validator(schema).validate(json.loads(text))
        self.assertTrue(json.loads(text)["gpus"])


class ExamplesTest(unittest.TestCase):
    PODS = {path.name: value for path in sorted((DEPLOY / "examples").glob("*.yaml"))
            for value in documents(path) if value["kind"] == "Pod"}

    def test_every_pod_tolerates_the_taints_of_gpu_nodes(self):
        self.assertEqual(len(self.PODS), 4)
        for name, pod in self.PODS.items():
            self.assertEqual(pod["spec"]["tolerations"],
                             [{"key": key, "operator": "Exists"} for key in ("nvidia.com/gpu", "snug.dev/only")], name)

    def test_the_mps_pod_looks_for_the_daemon_where_it_mounts_it(self):
        [container] = self.PODS["mps.yaml"]["spec"]["containers"]
        [pipe] = [each["value"] for each in container["env"] if each["name"] == "CUDA_MPS_PIPE_DIRECTORY"]
        mounts = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
        volumes = {each["name"]: each["hostPath"]["path"] for each in self.PODS["mps.yaml"]["spec"]["volumes"]}
        self.assertEqual({path: volumes[name] for path, name in mounts.items()},
                         {pipe: "/run/nvidia" + pipe, "/dev/shm": "/run/nvidia/mps/shm"})


class ImageTest(unittest.TestCase):
    RECIPE = (DEPLOY / "image/Dockerfile").read_text()
    ALWAYS = {"libc6", "libgcc-s1"}

    def test_it_has_the_packages_of_every_library(self):
        """Of those that the programs name themselves; apt brings what these need."""
        named, places = set(), {}
        for program in (EXTENDER, SNUGCTL, AGENT, MPS):
            named |= set(re.findall(r"NEEDED +(\S+)", run("objdump", "-p", program).stdout))
            places |= dict(re.findall(r"(\S+) => (\S+)", run("ldd", program).stdout))
        self.assertGreater(len(named), 5, named)
        packages = set((DEPLOY / "image/packages.txt").read_text().split())
        # Debian's libraries moved to /usr; its package lists know only one of the two names.
        owners = {run("dpkg-query", "-S", "*" + places[library].removeprefix("/usr")).stdout.split(":")[0]
                  for library in named}
        self.assertEqual(packages, owners - self.ALWAYS | {"ca-certificates"})

    def test_it_has_every_program(self):
        names = re.findall(r"^(?:snug_program|add_executable)\((snug\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)
        self.assertLessEqual({"snug-extender", "snug-agent", "snug-gate"}, set(names))
        for name in names:
            self.assertIn(f"COPY --from=build /src/build/release/{name} /usr/bin/{name}\n", self.RECIPE)

    def test_it_runs_as_the_user_of_the_deployment(self):
        user = re.search(r"^USER (\d+):(\d+)$", self.RECIPE, re.M)
        for name in SHAPES:
            manifest = (DEPLOY / name).read_text()
            self.assertIn(f"runAsUser: {user[1]}\n", manifest)
            self.assertIn(f"runAsGroup: {user[2]}\n", manifest)

    def test_it_copies_what_is_there_and_let_through(self):
        allowed = {line[1:] for line in (DEPLOY / "image/Dockerfile.dockerignore").read_text().split()
                   if line.startswith("!")}
        for sources in re.findall(r"^COPY (?!--from)(.*) \S+$", self.RECIPE, re.M):
            for name in sources.split():
                self.assertTrue((ROOT / name).exists(), name)
                self.assertIn(name, allowed)

    def test_what_it_copies_can_be_configured(self):
        with tempfile.TemporaryDirectory(prefix="snug-dockerfile-") as folder:
            stage = self.RECIPE.split("\nFROM ")[1]
            for sources, target in re.findall(r"^COPY (?!--from)(.*) (\S+)$", stage, re.M):
                for name in sources.split():
                    place = Path(folder, target, name if target == "./" else "")
                    place.parent.mkdir(parents=True, exist_ok=True)
                    (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, place)
            done = run("cmake", "-S", folder, "-B", f"{folder}/build")
            self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
