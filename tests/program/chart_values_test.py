"""Which values deploy/chart accepts, and who may read the admin port by them."""

import http.client
import json
import re
import socket
import ssl
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml

from chart import CHART, MIRROR, SHARED, TOKEN_AND_TLS, ChartTest, documents, flags_of, pods
from programs import CLUSTER, EXTENDER, ROOT, run, start_on


def policy(term="best-fit", default="a", **more):
    profiles = {"a": {"terms": [{"term": term, "weight": 1}]}}
    return "policy=" + json.dumps({"version": 1, "default": default, "profiles": profiles, **more})


def is_empty(value):
    return value in ("", 0, False, [], {})


def paths_of(values, path=()):
    """Of all values, and of the sections above them."""
    for name, value in values.items():
        yield (*path, name), value
        if isinstance(value, dict) and name != "resources":
            yield from paths_of(value, (*path, name))


class ValuesTest(ChartTest):
    # By the schema.
    WRONG = (("replicas=3", "'/replicas': maximum"), ("shape=other", "'/shape': value must be one of"),
             ("replica=2", "additional properties 'replica' not allowed"),
             ("scheduler.nam=a", "'/scheduler': additional properties 'nam'"),
             ("image=a", "'/image': got string, want object"),
             ("image.tag=1", "'/image/tag': got number, want string"),
             ('scheduler.image={"tag": 1.30}', "'/scheduler/image/tag': got number, want string"),
             ('image.tag="1\\n        command: [sh]"', "'/image/tag'"),
             ("image.repository=snug:1.0", "'/image/repository'"),
             ("image.repository=REGISTRY/snug-extender", "'/image/repository'"), ('image.repository="snug\\n"', "'/image/repository'"),
             ("scheduler.name=a..b", "'/scheduler/name'"), ("scheduler.name=1", "'/scheduler/name': got number, want string"),
             ("priorityClassName=-", "'/priorityClassName'"),
             ("nodeSelector.pool=1", "'/nodeSelector/pool': got number, want string"),
             ('tolerations=[{"operator": "In"}]', "'/tolerations/0/operator': value must be one of"),
             (f"nodes={{{'n' * 64}}}", "'/nodes/0': maxLength"), ("nodes={a,a}", "'/nodes'"),
             ("networkPolicy.monitoringNamespaces={a.b}", "'/networkPolicy/monitoringNamespaces/0'"),
             ("resources.limits.memory=much", "'/resources/limits/memory'"),
             ("admission.webhook=maybe", "'/admission/webhook': value must be one of"),
             ("admission.tolerations={a b}", "'/admission/tolerations/0'"),
             ("admission.tolerations={/b}", "'/admission/tolerations/0'"),
             ("admission.tolerateMissingPlugins=it", "'/admission/tolerateMissingPlugins': minLength"),
             ("monitoring.labels.a=1", "'/monitoring/labels/a': got number, want string"),
             ("kubernetesMinor=29", "'/kubernetesMinor'"), ("extraArgs={log-level}", "'/extraArgs/0'"),
             ('extraArgs=["--log-level=info\\n"]', "'/extraArgs/0'"), ("extraArgs={--a,--a}", "'/extraArgs'"),
             ("policy.version=1", "'/policy': missing properties 'default', 'profiles'"),
             (policy(term="best"), "'/policy/profiles/a/terms/0/term': value must be one of"),
             (policy(sharing=[{"namespaces": ["*"], "capMilli": "4"}]),
              "'/policy/sharing/0/capMilli': got string, want integer"))
    # Values that contradict each other.
    CONTRADICTING = (
        (policy(default="b"), 'policy names the profile "b"'),
        (policy(rules=[{"profile": "c"}]), 'policy names the profile "c"'),
        (policy(podChoice=[{"namespaces": ["n"], "profiles": ["a", "d"]}]), 'policy names the profile "d"'),
        ("scheduler.name=default-scheduler", "scheduler.name: default-scheduler is the cluster's own scheduler"),
        ("admission.tolerations=[],admission.webhook=true", "the webhook adds at least one toleration"),
        ("mirror.smallestGpuMib=2,mirror.largestGpuMib=1", "mirror.smallestGpuMib must be at most"),
        ("mirror.smallestGpuMib=2", "set both mirror.smallestGpuMib and mirror.largestGpuMib, or neither"),
        ("mirror.largestGpuMib=2", "set both mirror.smallestGpuMib and mirror.largestGpuMib, or neither"),
        ("shape=shared", "nodes: name the control-plane nodes"),
        ("admission.deviceNames={Warn,Audit,Deny}", "admission.deviceNames: Warn and Deny cannot stand together"),
        ("shape=shared,nodes={a},admission.managedResourcesOnly=true", "set mirror.smallestGpuMib"),
        ("nodes={a}", "nodes has no effect in the shape dedicated: set nodeSelector"),
        ("shape=shared,nodes={a},replicas=1,priorityClassName=", "priorityClassName, replicas have no effect in the shape shared"),
        ("adminAuth=token", "name its Secret in adminTokenSecret"),
        ("monitoring.serviceMonitor=true,monitoring.podMonitor=true", "choose one"),
        ("shape=shared,nodes={a},monitoring.podMonitor=true", "find nothing in the shape shared"),
        ("adminAuth=kubernetes,monitoring.podMonitor=true", "name a Secret with a token in monitoring.tokenSecret"))

    def test_lint_finds_nothing(self):
        for values in ((), SHARED):
            done = run(self.helm, "lint", "--strict", "--namespace", "snug", CHART, *(f"--set={value}" for value in values))
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertNotRegex(done.stdout, "WARNING|ERROR")

    def test_a_wrong_value_is_named(self):
        for value, message in (*self.WRONG, *self.CONTRADICTING):
            with self.subTest(value):
                code, text = self.template(value)
                self.assertNotEqual(code, 0)
                self.assertIn(message, text)
                self.assertNotIn("nil pointer", text)

    def test_null_is_the_default_or_is_named(self):
        """In each round all values that are independent of each other are null at once."""
        paths = dict(paths_of(yaml.safe_load((CHART / "values.yaml").read_text())))
        empty = [path for path, value in paths.items() if is_empty(value)]
        self.assertEqual(self.template(*(f"{'.'.join(path)}=null" for path in empty)), self.template())
        needed = [path for path in paths if path not in empty]
        self.assertGreater(len(needed), 25)
        for depth in {len(path) for path in needed}:
            chosen = [path for path in needed if len(path) == depth]
            code, text = self.template(*(f"{'.'.join(path)}=null" for path in chosen))
            self.assertNotEqual(code, 0)
            for path in chosen:
                section = "".join(f"/{name}" for name in path[:-1])
                self.assertRegex(text, rf"- at '{section}': missing propert.*'{path[-1]}'")

    def test_a_flag_that_the_chart_sets_is_refused(self):
        set_flags = {flag for values in ((), SHARED) for flag in flags_of(self.objects(
            *values, *TOKEN_AND_TLS, *MIRROR, "admission.webhook=true", "admission.runtimeClassName=nvidia"))}
        set_flags |= flags_of(self.objects("adminAuth=kubernetes", "adminTenants=true"))
        set_flags -= {"--remove-mirrors"}  # of the Job alone
        self.assertGreater(len(set_flags), 15)
        helped = (CHART / "templates/_checks.tpl").read_text()
        self.assertEqual(set(re.findall(r"^([a-z-]+): (?:set|leave)", helped, re.M)), {flag[2:] for flag in set_flags})
        for flag, advice in (("--kubernetes-minor=30", "set kubernetesMinor"), ("--tls-cert=/a", "leave it out"),
                             ("--admin-auth", "set adminAuth")):
            code, text = self.template(f'extraArgs=["--log-format=json","{flag}"]')
            self.assertNotEqual(code, 0)
            self.assertIn(f"extraArgs: the chart itself decides about {flag.partition('=')[0]}: {advice}", text)

    def test_other_flags_of_the_program_can_be_given_if_they_suit_a_cluster(self):
        flags = set(re.findall(r"^  (--[a-z-]+) ", run(EXTENDER, "--help").stdout, re.M)) - {"--version"}
        code, text = self.template("extraArgs={--log-lvel=info}")
        self.assertNotEqual(code, 0)
        allowed = set(re.search(r"--log-lvel cannot be given here; the flags that can are (.*?)\n", text + "\n")[1].split(", "))
        self.assertGreater(len(allowed), 4)
        self.assertLessEqual(allowed, flags)
        for flag in flags:
            code, text = self.template(f"extraArgs={{{flag}=1}}")
            self.assertEqual(code == 0, flag in allowed, text)
        [(_, container)] = pods(self.objects('extraArgs=["--log-format=json","--client-names=a: b #c"]'))
        self.assertEqual(container["args"][-2:], ["--log-format=json", "--client-names=a: b #c"])

    def test_names_stay_texts(self):
        """Also those that YAML reads as other types where they are not quoted."""
        both = ('admission.deviceNamesExcept=["the-first","the-second"]', 'imagePullSecrets=["the-first"]',
                'admission.runtimeClassName="the-first"', 'image.repository="the-first"', 'image.tag="the-second"',
                "kubernetesMinor=36", 'adminTokenSecret="the-first"', "adminAuth=token", 'adminTls.secret="the-first"',
                "monitoring.prometheusRule=true", 'monitoring.labels={"a":"the-first"}')
        dedicated = ('networkPolicy.monitoringNamespaces=["the-first","the-second"]', 'scheduler.name="the-first"',
                     'priorityClassName="the-first"', 'scheduler.image.repository="the-first"',
                     'scheduler.image.tag="the-second"', 'adminTls.ca="the-second"', 'adminTls.serverName="the-first"',
                     "monitoring.serviceMonitor=true")
        shared = ("shape=shared", 'nodes=["the-first","the-second"]', *MIRROR)

        def replaced(text, names):
            return text.replace("the-first", names[0]).replace("the-second", names[1])

        def with_names(value, names):
            if isinstance(value, dict):
                return {key: with_names(each, names) for key, each in value.items()}
            if isinstance(value, list):
                return [with_names(each, names) for each in value]
            return replaced(value, names) if isinstance(value, str) else value

        def made(*settings):
            objects = self.objects(*settings)
            if ("Deployment", "snug") in objects:
                del objects["Deployment", "snug"]["spec"]["template"]["metadata"]["annotations"]  # a checksum
                data = objects["ConfigMap", "snug-scheduler-config"]["data"]
                data["scheduler-config.yaml"] = yaml.safe_load(data["scheduler-config.yaml"])
            return list(objects.values())
        for shape in (dedicated, shared):
            plain = made(*both, *shape)
            for names in (("no", "1234"), ("null", "1e3"), ("0x1f", "12e03"), ("2026-11-27", "true"), ("y", "0")):
                with self.subTest(names, shape=shape):
                    self.assertEqual(made(*(replaced(value, names) for value in (*both, *shape))),
                                     [with_names(value, names) for value in plain])

    def test_another_namespace_is_refused(self):
        code, text = self.template(namespace="other")
        self.assertNotEqual(code, 0)
        self.assertIn("add --namespace snug", text)

    def test_the_schema_knows_the_values_and_no_others(self):
        whole = json.loads((CHART / "values.schema.json").read_text())

        def keys(schema):
            if schema.get("$ref") == "#/$defs/image":
                schema = whole["$defs"]["image"]
            return {name: keys(value) for name, value in schema["properties"].items()} if "properties" in schema else None

        def kept(values, known):
            return {name: kept(values[name], known[name]) if known[name] else None for name in values}
        schema = keys(whole)
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


class AdminPortTest(ChartTest):
    def test_it_has_tls_with_a_certificate_or_where_it_asks_for_tokens(self):
        for admin, scheme, asks in (
                (("adminAuth=none",), None, False), (("adminAuth=kubernetes",), "HTTPS", True),
                (("adminTls.secret=a",), "HTTPS", False), (TOKEN_AND_TLS, "HTTPS", False)):
            for values in ((), SHARED):
                made = self.objects(*values, *admin)
                for _, extender in pods(made):
                    self.assertEqual({extender[f"{probe}Probe"]["httpGet"].get("scheme")
                                      for probe in ("startup", "liveness", "readiness")}, {scheme})
                    self.assertEqual([flag for flag in extender["args"] if flag.startswith("--admin-auth")],
                                     [f"--{admin[0].replace('A', '-a')}"] if "Auth" in admin[0] and scheme else [])
                self.assertEqual(("ClusterRoleBinding", "snug-extender-auth-delegator") in made, asks)
            # A Prometheus that follows annotations would ask without TLS.
            self.assertEqual("annotations" in self.objects(*admin)["Service", "snug"]["metadata"], scheme is None)

    def test_monitors_show_a_token_and_check_the_certificate(self):
        blind = {"scheme": "https", "tlsConfig": {"insecureSkipVerify": True}}
        credentials = {"authorization": {"credentials": {"name": "snug-token", "key": "token"}}}
        named = {"scheme": "https", "tlsConfig": {"serverName": "snug.snug.svc"}}
        checked = {"scheme": "https", "tlsConfig": {**named["tlsConfig"], "ca": {
            "secret": {"name": "snug-admin", "key": "ca.crt"}}}}
        both = (
            ((), {}), (TOKEN_AND_TLS, checked | credentials), (("adminTls.secret=a", "adminTls.ca="), named),
            (("adminAuth=token", "adminTokenSecret=snug-token"), blind | credentials),
            (("adminAuth=kubernetes", "monitoring.tokenSecret=snug-token"), blind | credentials))
        # Of Prometheus' own token only a ServiceMonitor knows.
        service = ((("adminAuth=kubernetes",), blind | {
            "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token"}),)
        for kind, endpoints, rows in (("ServiceMonitor", "endpoints", both + service),
                                      ("PodMonitor", "podMetricsEndpoints", both)):
            for values, expected in rows:
                with self.subTest(kind, values=values):
                    made = self.objects(*values, f"monitoring.{kind[0].lower()}{kind[1:]}=true")
                    self.assertEqual({kind for kind, _ in made if kind.endswith("Monitor")}, {kind})
                    [endpoint] = made[kind, "snug"]["spec"][endpoints]
                    self.assertEqual(endpoint, {"port": "admin", "honorLabels": True} | expected)

    def test_labels_of_your_own_take_the_place_of_the_charts(self):
        made = self.objects("monitoring.serviceMonitor=true", "monitoring.prometheusRule=true",
                            'monitoring.labels={"app.kubernetes.io/name":"mine","release":"1"}')
        for kind in ("ServiceMonitor", "PrometheusRule"):
            self.assertEqual(made[kind, "snug"]["metadata"]["labels"], {"app.kubernetes.io/name": "mine", "release": "1"})

    def test_the_program_serves_what_a_monitor_asks_for(self):
        """With the chart's flags, but for the folders of the Secrets."""
        made = self.objects(*TOKEN_AND_TLS, "monitoring.podMonitor=true")
        [(spec, container)] = pods(made)
        [endpoint] = made["PodMonitor", "snug"]["spec"]["podMetricsEndpoints"]
        name = endpoint["tlsConfig"]["serverName"]
        with tempfile.TemporaryDirectory(prefix="snug-admin-") as folder:
            mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
            secrets = {volume["secret"]["secretName"]: volume for volume in spec["volumes"] if "secret" in volume}
            for secret in ("snug-token", "snug-admin"):
                self.assertIn(secrets[secret]["name"], mounts)
            done = run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                       "-days", "2", "-subj", "/CN=snug", "-addext", f"subjectAltName=DNS:{name}",
                       "-keyout", f"{folder}/tls.key", "-out", f"{folder}/tls.crt")
            self.assertEqual(done.returncode, 0, done.stdout)
            Path(folder, "token").write_text("the-token")
            flags = [re.sub(r"=/etc/snug-admin-\w+/", f"={folder}/", flag) for flag in container["args"]
                     if re.match("--admin-(?!listen)", flag)]
            _, _, admin = start_on(self, CLUSTER, *flags)
            context = ssl.create_default_context(cafile=f"{folder}/tls.crt")
            for token, status in (("the-token", 200), ("another", 401)):
                host, port = admin.removeprefix("http://").split(":")
                with context.wrap_socket(socket.create_connection((host, int(port)), 10), server_hostname=name) as secure:
                    request = ("GET /metrics HTTP/1.1", f"Host: {name}", f"Authorization: Bearer {token}", "", "")
                    secure.sendall("\r\n".join(request).encode())
                    answer = http.client.HTTPResponse(secure)
                    answer.begin()
                    self.assertEqual(answer.status, status)


if __name__ == "__main__":
    unittest.main()
