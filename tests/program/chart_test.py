"""deploy/chart with the real helm, without a cluster: deploy/ has what it makes, values are checked, and a package is
complete. With an API server: tests/e2e/test_chart.py."""

import json
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

import yaml

from programs import EXTENDER, ROOT, SNUGCTL, run

sys.path.insert(0, str(ROOT / "deploy/scripts"))

import manifests  # noqa: E402

CHART = ROOT / "deploy/chart"
NO_GO = 3  # build.sh: no Go >= 1.26
SHARED = ("shape=shared", "nodes={one,two}")


def documents(text):
    return {(value["kind"], value["metadata"]["name"]): value for value in yaml.safe_load_all(text) if value}


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
        settings = [word for value in values for word in ("--set-json" if "=[" in value else "--set", value)]
        done = subprocess.run([self.helm, "template", "snug", chart, "--namespace", namespace, "--kube-version", kubernetes,
                               *settings], capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stdout if done.returncode == 0 else done.stderr

    def objects(self, *values, **options):
        """(kind, name) -> what these values give"""
        code, text = self.template(*values, **options)
        self.assertEqual(code, 0, text)
        return documents(text)


class SourceTest(ChartTest):
    def test_deploy_has_what_the_chart_makes(self):
        made = dict(manifests.manifests(self.helm))
        self.assertGreater(len(made), 10)
        for name, text in made.items():
            self.assertEqual((ROOT / "deploy" / name).read_text(), text, f"{name}: run deploy/scripts/manifests.py")

    def test_the_chart_has_what_snugctl_prints_and_the_schema_of_policies(self):
        self.assertEqual((CHART / "templates/admission-gpu-pods.yaml").read_text(), manifests.gpu_pods_template(SNUGCTL),
                         "run deploy/scripts/manifests.py --snugctl PROGRAM")
        self.assertEqual((CHART / "values.schema.json").read_text(), manifests.values_schema())

    def test_values_make_the_policies_that_flags_of_snugctl_make(self):
        for values, flags in (
                ((), ()),
                (("scheduler.name=gpu", "admission.runtimeClassName=nvidia", "admission.tolerations={a,b,c,d/e}"),
                 ("--scheduler-name=gpu", "--runtime-class-name=nvidia", "--tolerations=a,b,c,d/e")),
                ((*SHARED, "admission.tolerations=[]"), ("--scheduler-name=none", "--tolerations=none"))):
            with self.subTest(values):
                done = run(SNUGCTL, "admission", *flags)
                self.assertEqual(done.returncode, 0, done.stdout)
                made = {key: value for key, value in self.objects(*values).items() if key[0].startswith("Mutating")}
                self.assertEqual(made, documents(done.stdout))

    def test_a_package_has_files_in_place_of_links(self):
        with tempfile.TemporaryDirectory(prefix="snug-chart-") as folder:
            done = run(self.helm, "package", CHART, "--destination", folder)
            self.assertEqual(done.returncode, 0, done.stdout)
            [package] = Path(folder).glob("*.tgz")
            with tarfile.open(package) as archive:
                self.assertTrue(all(member.isfile() for member in archive))
                for link, source in (("policy.yaml", "policies/tight.yaml"), ("rules.yaml", "deploy/alerts/rules.yaml"),
                                     ("dashboard.json", "deploy/grafana/snug.json")):
                    text = archive.extractfile(f"snug/files/{link}").read().decode()
                    self.assertEqual(text, (ROOT / source).read_text())
            self.assertEqual(self.template(chart=package), self.template())

    def test_it_has_the_version_of_the_program(self):
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
        version = re.search(r"^project\(\w+ VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
        self.assertEqual((chart["version"], chart["appVersion"]), (version, version))


class ValuesTest(ChartTest):
    WRONG = (("replicas=3", "'/replicas': maximum"), ("shape=other", "'/shape': value must be one of"),
             ("shape=shared", "'/nodes': minItems"), ("replica=2", "additional properties 'replica' not allowed"),
             ("scheduler.nam=a", "'/scheduler': additional properties 'nam'"),
             ("admission.webhook=maybe", "'/admission/webhook': value must be one of"),
             ("admission.tolerations={a b}", "'/admission/tolerations/0'"),
             ("admission.deviceNames={Warn,Deny}", "'/admission/deviceNames'"),
             ("admission.tolerations=[],admission.webhook=true", "the webhook adds at least one toleration"),
             ("mirror.smallestGpuMib=16384", "'/mirror/largestGpuMib': minimum"),
             ("kubernetesMinor=29", "'/kubernetesMinor'"), ("extraArgs={log-level}", "'/extraArgs/0'"),
             ("policy.version=1", "'/policy': missing properties 'default', 'profiles'"))

    def test_lint_finds_nothing(self):
        for values in ((), SHARED):
            done = run(self.helm, "lint", "--strict", "--namespace", "snug", CHART, *(f"--set={value}" for value in values))
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertNotRegex(done.stdout, "WARNING|ERROR")

    def test_a_wrong_value_is_named(self):
        for value, message in self.WRONG:
            with self.subTest(value):
                code, text = self.template(value)
                self.assertNotEqual(code, 0)
                self.assertIn(message, text)

    def test_another_namespace_is_refused(self):
        code, text = self.template(namespace="other")
        self.assertNotEqual(code, 0)
        self.assertIn("add --namespace snug", text)

    def test_the_schema_knows_the_values_and_no_others(self):
        def keys(schema):
            return {name: keys(value) for name, value in schema["properties"].items()} if "properties" in schema else None

        def kept(values, known):
            return {name: kept(values[name], known[name]) if known[name] else None for name in values}
        schema = keys(json.loads((CHART / "values.schema.json").read_text()))
        del schema["global"]  # which helm itself adds
        values = yaml.safe_load((CHART / "values.yaml").read_text())
        self.assertEqual(kept(values, schema), schema)

    def test_a_policy_takes_the_place_of_the_default(self):
        policy = yaml.safe_load((ROOT / "policies/best-fit.yaml").read_text())
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump({"policy": policy}, file)
            file.flush()
            done = subprocess.run([self.helm, "template", "snug", CHART, "--namespace", "snug", "--kube-version", "1.36.3",
                                   "--values", file.name], capture_output=True, text=True, check=True)
        deployed = documents(done.stdout)["ConfigMap", "snug-policy"]["data"]["policy.yaml"]
        self.assertEqual(yaml.safe_load(deployed), policy)


class VersionsTest(ChartTest):
    def test_the_clusters_version_decides(self):
        for kubernetes, tag, minor, mutates, wakes in (
                ("v1.36.3", "v1.36.3", 36, "policies", False), ("v1.33.5-gke.1080000", "v1.33.5", 33, "webhook", False),
                ("v1.31.9-eks-473151a", "v1.31.9", 31, "webhook", True), ("v1.30.2+k3s1", "v1.30.2", 30, "webhook", True)):
            with self.subTest(kubernetes):
                made = self.objects(kubernetes=kubernetes)
                extender, scheduler = made["Deployment", "snug"]["spec"]["template"]["spec"]["containers"]
                self.assertEqual(scheduler["image"], f"registry.k8s.io/kube-scheduler:{tag}")
                self.assertIn(f"--kubernetes-minor={minor}", extender["args"])
                self.assertEqual(("MutatingAdmissionPolicy", "snug-gpu-pods") in made, mutates == "policies")
                self.assertEqual(("MutatingWebhookConfiguration", "snug") in made, mutates == "webhook")
                self.assertEqual("--webhook-listen=0.0.0.0:8443" in extender["args"], mutates == "webhook")
                self.assertEqual(("CSIStorageCapacity", "snug-room") in made, wakes)

    def test_values_decide_instead(self):
        made = self.objects("kubernetesMinor=35", "scheduler.image.tag=v1.35.1", "admission.policies=false")
        extender, scheduler = made["Deployment", "snug"]["spec"]["template"]["spec"]["containers"]
        self.assertIn("--kubernetes-minor=35", extender["args"])
        self.assertEqual(scheduler["image"], "registry.k8s.io/kube-scheduler:v1.35.1")
        self.assertNotIn(("MutatingAdmissionPolicy", "snug-gpu-pods"), made)
        self.assertIn(("MutatingWebhookConfiguration", "snug"), made)
        both = self.objects("admission.webhook=true")
        self.assertIn(("MutatingAdmissionPolicy", "snug-gpu-pods"), both)
        self.assertIn(("MutatingWebhookConfiguration", "snug"), both)

    def test_a_cluster_that_is_too_old_is_refused(self):
        code, text = self.template(kubernetes="1.29.9")
        self.assertNotEqual(code, 0)
        self.assertIn("chart requires kubeVersion", text)


class ShapesTest(ChartTest):
    def test_one_replica_needs_no_budget(self):
        self.assertIn(("PodDisruptionBudget", "snug"), self.objects())
        self.assertNotIn(("PodDisruptionBudget", "snug"), self.objects("replicas=1"))

    def test_each_control_plane_node_has_a_snug(self):
        made = self.objects(*SHARED)
        nodes = {value["spec"]["template"]["spec"]["nodeName"]: value for (kind, _), value in made.items()
                 if kind == "DaemonSet"}
        self.assertEqual(set(nodes), {"one", "two"})
        for value in nodes.values():
            self.assertEqual(value["spec"]["selector"]["matchLabels"], value["spec"]["template"]["metadata"]["labels"])
        self.assertFalse({kind for kind, _ in made} & {"Deployment", "PodDisruptionBudget", "ResourceQuota", "Service"})
        self.assertNotIn(("ValidatingAdmissionPolicy", "snug-scheduler-name"), made)

    def test_every_flag_is_the_programs(self):
        known = set(re.findall(r"--[\w-]+", run(EXTENDER, "--help").stdout))
        for values in ((), SHARED):
            made = self.objects(*values, "admission.webhook=true", "admission.runtimeClassName=nvidia",
                                "mirror.smallestGpuMib=16384", "mirror.largestGpuMib=81920")
            owners = [value for (kind, _), value in made.items() if kind in ("Deployment", "DaemonSet", "Job")]
            flags = {flag.partition("=")[0] for owner in owners
                     for flag in owner["spec"]["template"]["spec"]["containers"][0]["args"]}
            self.assertLessEqual(flags, known)
            self.assertLessEqual({"--webhook-listen", "--pod-tolerations", "--pod-runtime-class", "--smallest-gpu-mib",
                                  "--remove-mirrors"}, flags)

    def test_the_admin_port_has_tls_where_it_asks_for_tokens(self):
        for auth, scheme in (("none", None), ("kubernetes", "HTTPS")):
            for values in ((), SHARED):
                made = self.objects(*values, f"adminAuth={auth}", "monitoring.serviceMonitor=true")
                owners = [value for (kind, _), value in made.items() if kind in ("Deployment", "DaemonSet")]
                for owner in owners:
                    extender = owner["spec"]["template"]["spec"]["containers"][0]
                    self.assertEqual({extender[f"{probe}Probe"]["httpGet"].get("scheme")
                                      for probe in ("startup", "liveness", "readiness")}, {scheme})
                    self.assertEqual(f"--admin-auth={auth}" in extender["args"], bool(scheme))
                self.assertEqual(("ClusterRoleBinding", "snug-extender-auth-delegator") in made, bool(scheme))
            monitor = self.objects(f"adminAuth={auth}", "monitoring.serviceMonitor=true")["ServiceMonitor", "snug"]
            self.assertEqual("bearerTokenFile" in monitor["spec"]["endpoints"][0], bool(scheme))

    def test_uninstalling_removes_mirrored_shares_where_there_are_some(self):
        self.assertFalse([name for _, name in self.objects() if "remove" in name])
        for values in ((), SHARED):
            made = self.objects(*values, "mirror.smallestGpuMib=16384", "mirror.largestGpuMib=81920")
            hooks = {key: value for key, value in made.items() if key[1] == "snug-remove-mirrors"}
            self.assertEqual({kind for kind, _ in hooks}, {"Job", "ServiceAccount", "Role", "RoleBinding", "ClusterRole",
                                                           "ClusterRoleBinding"})
            for (kind, _), value in hooks.items():
                notes = value["metadata"]["annotations"]
                self.assertEqual((notes["helm.sh/hook"], notes["helm.sh/hook-delete-policy"]),
                                 ("post-delete", "before-hook-creation,hook-succeeded"))
                # Its rights are there before the Job.
                self.assertEqual(int(notes.get("helm.sh/hook-weight", 0)), 0 if kind == "Job" else -1)


if __name__ == "__main__":
    unittest.main()
