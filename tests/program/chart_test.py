"""deploy/chart with the real helm, without a cluster: deploy/ has what it makes, a package is complete, and the shapes
differ where they must. Its values: chart_values_test.py. With an API server: tests/e2e/test_chart.py."""

import json
import re
import tarfile
import tempfile
import unittest
from pathlib import Path

import yaml

from chart import CHART, MIRROR, SHARED, TOKEN_AND_TLS, ChartTest, documents, flags_of, manifests, pods
from programs import EXTENDER, ROOT, SNUGCTL, run


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
        for values, minor in ((("scheduler.image.tag=v1.35.1-corp.2",), 35), (("scheduler.image.tag=latest",), 36), (SHARED, 36)):
            for _, container in pods(self.objects(*values)):
                self.assertIn(f"--kubernetes-minor={minor}", container["args"])
        both = self.objects("admission.webhook=true")
        self.assertIn(("MutatingAdmissionPolicy", "snug-gpu-pods"), both)
        self.assertIn(("MutatingWebhookConfiguration", "snug"), both)

    def test_a_cluster_that_is_too_old_is_refused(self):
        code, text = self.template(kubernetes="1.29.9")
        self.assertNotEqual(code, 0)
        self.assertIn("chart requires kubeVersion", text)

    def test_a_version_without_a_patch_names_no_image(self):
        code, text = self.template(kubernetes="1.36")
        self.assertNotEqual(code, 0)
        self.assertIn("has no patch: set scheduler.image.tag", text)
        self.assertEqual(self.template("scheduler.image.tag=v1.36.3", kubernetes="1.36")[0], 0)


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
            made = self.objects(*values, *MIRROR, *TOKEN_AND_TLS, "admission.webhook=true",
                                "admission.runtimeClassName=nvidia")
            flags = flags_of(made) | flags_of(self.objects("adminAuth=kubernetes", "adminTenants=true"))
            self.assertLessEqual(flags, known)
            self.assertLessEqual({"--webhook-listen", "--pod-tolerations", "--pod-runtime-class", "--smallest-gpu-mib",
                                  "--remove-mirrors", "--admin-token-file", "--admin-tls-key", "--admin-tenants"}, flags)
            for spec, container in pods(made):
                mounts = {mount["mountPath"]: mount["name"] for mount in container.get("volumeMounts", ())}
                files = [flag.partition("=")[2] for flag in container["args"] if "=/" in flag]
                self.assertLessEqual({str(Path(file).parent) for file in files}, set(mounts))
                self.assertLessEqual(set(mounts.values()), {volume["name"] for volume in spec.get("volumes", ())})

    def test_the_search_for_texts_finds_the_operators_key(self):
        for key, words in (("tolerate-missing-plugins.noderesource.dev", 4), ("starts-without.example.com", 5)):
            objects = self.objects(f"admission.tolerateMissingPlugins={key}")
            [condition] = objects["ValidatingAdmissionPolicy", "snug-annotations"]["spec"]["matchConditions"]
            searched = re.findall(r"'([^']*)'", re.search(r"\[([^]]*)\]\.exists\(word", condition["expression"])[1])
            self.assertEqual(len(searched), words)
            self.assertTrue(any(word in key for word in searched), searched)
            self.assertLessEqual(max(map(len, searched)), 10)

    def test_all_of_snugs_decisions_outweigh_the_scheduler(self):
        for values, weight in (((), 1), (("answer=all",), 15), (("answer=all", "scheduler.weight=3"), 3),
                               (("answer=advise",), 1)):
            config = self.objects(*values)["ConfigMap", "snug-scheduler-config"]["data"]["scheduler-config.yaml"]
            self.assertEqual(yaml.safe_load(config)["extenders"][0]["weight"], weight)

    def test_its_pods_run_where_the_operator_says(self):
        selector, tolerations = {"pool": "yes"}, [{"key": "a/b", "operator": "Equal", "value": "1", "effect": "NoSchedule"}]
        made = self.objects(*MIRROR, f"nodeSelector={json.dumps(selector)}", f"tolerations={json.dumps(tolerations)}")
        self.assertEqual([(spec["nodeSelector"], spec["tolerations"]) for spec, _ in pods(made)],
                         2 * [(selector, tolerations)])

    def test_uninstalling_removes_mirrored_shares_where_there_are_some(self):
        self.assertFalse([name for _, name in self.objects() if "remove" in name])
        for values in ((), SHARED):
            made = self.objects(*values, *MIRROR)
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
