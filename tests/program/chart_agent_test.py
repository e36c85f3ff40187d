"""What deploy/chart makes of the values `agent` and `mps`, and that the programs accept it."""

import json
import re
import unittest

import yaml

from chart import CHART, ChartTest, documents
from programs import AGENT, MPS, ROOT, run

ON = ("agent.enabled=true",)
WITH_MPS = (*ON, "agent.modes=[\"whole\",\"mps\"]", "mps.enabled=true")
# A value, and the flags that it gives.
VALUES = (
    ("agent.driverRoot=/run/nvidia/driver", ["--driver-root=/run/nvidia/driver"]),
    ('agent.modes=["time-slicing"]', ["--modes=time-slicing"]), ("agent.limits=driver", ["--limits=driver"]),
    ("agent.limits=hami-core,agent.hamiCore=/opt/hami-core", ["--limits=hami-core", "--hami-core=/opt/hami-core"]),
    ("agent.dynamicMig=true", ["--dynamic-mig"]),
    ("agent.dynamicMig=true,agent.migIdleMinutes=525600", ["--dynamic-mig", "--mig-idle-minutes=525600"]),
    ("agent.publishUsage=true", ["--publish-usage"]),
    ("agent.stopViolators=true", ["--stop-violators"]),
    ('agent.exempt=["kube-system/nvidia-*","a/b?"]', ["--exempt=kube-system/nvidia-*", "--exempt=a/b?"]),
    ('agent.extraArgs=["--log-format=json","--nvml-library=/a: b #c"]', ["--log-format=json", "--nvml-library=/a: b #c"]))
# Values that contradict each other, by which the program ends, too.
REFUSED = (("agent.limits=mps", "limits: mps needs mps in modes"),
           ("agent.limits=hami-core", "limits: hami-core needs its folder in hamiCore"),
           ('agent.modes=["whole"],agent.limits=hami-core,agent.hamiCore=/a', "hami-core needs time-slicing in modes"),
           ('agent.modes=["mps","time-slicing"],agent.limits=hami-core,agent.hamiCore=/a,mps.enabled=true',
            "hami-core needs time-slicing in modes, without mps"))
WRONG = (("agent.enabled=yes", "'/agent/enabled'"), ("agent.mode=a", "additional properties 'mode' not allowed"),
         ('agent.modes=["mig"]', "'/agent/modes/0'"), ("agent.modes=[]", "'/agent/modes'"),
         ("agent.limits=cgroup", "'/agent/limits'"), ("agent.driverRoot=run", "'/agent/driverRoot'"),
         ("agent.migIdleMinutes=525601", "'/agent/migIdleMinutes'"), ('agent.exempt=["nvidia"]', "'/agent/exempt/0'"),
         ('agent.nodeSelector={"snug.dev/agent":"a"}', "agent: nodeSelector: the chart itself sets snug.dev/agent"),
         ('agent.groups=[{"name":"a","nodeSelector":{"snug.dev/agent":"b"}}]', "agent.groups, a: nodeSelector: the chart itself sets"),
         ('agent.groups=[{"limits":"mps"}]', "missing property 'name'"),
         ('agent.groups=[{"name":"true"}]', "agent.groups, true: choose another name"),
         ('agent.groups=[{"name":"a","groups":[]}]', "additional properties 'groups' not allowed"),
         ('agent.groups=[{"name":"a"},{"name":"a"}]', "agent.groups, a: two groups have this name"),
         ('agent.groups=[{"name":"a","limits":"mps"}]', "agent.groups, a: limits: mps needs mps in modes"),
         ('agent.groups=[{"name":"a","extraArgs":["--modes=mps"]}]',
          "agent.groups, a: extraArgs: the chart itself decides about --modes: set modes"),
         ('agent.groups=[{"name":"a","modes":["mps"]}]',
          "agent.groups, a: modes: pods in the mode mps would wait for their daemons forever: set mps.enabled"),
         ("mps.enabled=true", "mps.enabled has no effect"),
         ('agent.modes=["mps"],mps.enabled=true,mps.extraArgs=["--root=/a"]', "mps: extraArgs: the chart itself decides"),
         ("mps.sharedMemoryMib=1048577", "'/mps/sharedMemoryMib'"),
         ('agent.modes=["mps"],mps.enabled=true,mps.nodeSelector={"snug.dev/mps":"a"}', "mps.nodeSelector: the chart itself sets"),
         ("agent.enabled=false,mps.enabled=true", "mps.enabled has no effect without agent.enabled"),
         ("agent.enabled=false,monitoring.agents=true", "monitoring.agents has no effect without agent.enabled"),
         ('agent.modes=["whole"],agent.limits=driver', "agent: limits: driver has no effect on whole GPUs"),
         ('agent.groups=[{"name":"a","modes":["whole"],"limits":"driver"}]', "agent.groups, a: limits: driver has no effect"),
         ("agent.hamiCore=/a", "agent.hamiCore has no effect without limits: hami-core"),
         ('agent.hamiCore=/a,agent.groups=[{"name":"a","limits":"hami-core","hamiCore":"/b"}]', "agent.hamiCore has no effect"),
         ('agent.groups=[{"name":"a","hamiCore":"/a"}]', "agent.groups, a: hamiCore has no effect without limits: hami-core"),
         ("agent.migIdleMinutes=5", "agent.migIdleMinutes has no effect without dynamicMig: true"),
         ('agent.dynamicMig=true,agent.groups=[{"name":"a","dynamicMig":false,"migIdleMinutes":5}]',
          "agent.groups, a: migIdleMinutes has no effect without dynamicMig: true"))
# Of the section, for a group.
INHERITED = ('agent.hamiCore=/a,agent.groups=[{"name":"a","limits":"hami-core"}]',
             'agent.migIdleMinutes=5,agent.groups=[{"name":"a","dynamicMig":true}]',
             'agent.dynamicMig=true,agent.groups=[{"name":"a","migIdleMinutes":5}]',
             'agent.limits=hami-core,agent.hamiCore=/a,agent.groups=[{"name":"a","limits":"none"}]')


def split(values):
    """`a=1,b=[2,3]` as the values of two flags of helm."""
    return re.split(r",(?=[a-z][\w.]*=)", values)


def daemon_sets(objects):
    return {name: value["spec"] for (kind, name), value in objects.items() if kind == "DaemonSet"}


def place_of(value):
    return value["kind"], value["metadata"].get("namespace"), value["metadata"]["name"]


def pod_of(objects, name="snug-agent"):
    return daemon_sets(objects)[name]["template"]["spec"]


def args_of(objects, name="snug-agent"):
    return pod_of(objects, name)["containers"][0]["args"]


def flags_of_help(program):
    return set(re.findall(r"^  (--[a-z-]+)", run(program, "--help").stdout, re.M)) - {"--version"}


class AgentChartTest(ChartTest):
    def accepts(self, program, args):
        """What the program says of its arguments; empty: it accepts them."""
        if program == AGENT:
            args = [*args, "--node-name=a", "--kubeconfig=/none"]
        else:
            args = [*args, "--root=/proc/none"]
        done = run(program, *args)
        self.assertNotEqual(done.returncode, 0)
        return "" if "/none" in done.stdout and "--" not in done.stdout else done.stdout

    def each(self, *values):
        """Each object that these values give: two of a kind can have one name, in two namespaces."""
        code, text = self.template(*values)
        self.assertEqual(code, 0, text)
        return [value for value in yaml.safe_load_all(text) if value]

    def test_nothing_is_there_by_default(self):
        default, made = ({place_of(value): value for value in self.each(*values)} for values in ((), WITH_MPS))
        added = {(kind, namespace, name) for kind, namespace, name in made
                 if namespace == "snug-node" or name in ("snug-agent", "snug-mps", "snug-node")}
        self.assertGreater(len(added), 8)
        quotas = {(kind, namespace) for kind, namespace, _ in made if kind == "ResourceQuota"}
        self.assertEqual(quotas, {("ResourceQuota", "snug"), ("ResourceQuota", "snug-node")})
        self.assertEqual(default, {key: value for key, value in made.items() if key not in added})

    def test_the_rights_are_those_of_the_manifests(self):
        made = self.objects(*ON)
        for name in ("agent-rbac.yaml", "agent-policy.yaml"):
            rights = documents((ROOT / "deploy" / name).read_text())
            self.assertGreater(len(rights), 1)
            self.assertEqual({key: made[key] for key in rights}, rights)

    def test_each_value_gives_its_flags_and_the_program_accepts_them(self):
        self.assertEqual(args_of(self.objects(*ON)), ["--host-root=/host"])
        for values, flags in VALUES:
            with self.subTest(values):
                args = args_of(self.objects(*ON, *split(values)))
                self.assertEqual(args, ["--host-root=/host", *flags])
                self.assertEqual(self.accepts(AGENT, args), "")
        args = args_of(self.objects(*WITH_MPS, "agent.driverRoot=/a", 'mps.extraArgs=["--log-level=warn"]'), "snug-mps")
        self.assertEqual(args, ["--driver-root=/host/a", "--shared-memory-mib=1024", "--log-level=warn"])
        self.assertEqual(self.accepts(MPS, args), "")
        args = args_of(self.objects(*WITH_MPS, "mps.driverRoot=/", "agent.driverRoot=/a", "mps.sharedMemoryMib=64"), "snug-mps")
        self.assertEqual(args, ["--driver-root=/host", "--shared-memory-mib=64"])

    def test_what_gives_no_flag_is_the_programs_default(self):
        values = yaml.safe_load((CHART / "values.yaml").read_text())["agent"]
        text = run(AGENT, "--help").stdout
        for flag, value in (("--driver-root", values["driverRoot"]), ("--modes", ",".join(values["modes"])),
                            ("--limits", values["limits"])):
            self.assertRegex(text, rf"(?m)^  {flag} \S*\s.*default: {value}$")

    def test_null_is_the_default(self):
        sections = yaml.safe_load((CHART / "values.yaml").read_text())
        empty = [f"{name}.{key}=null" for name in ("agent", "mps") for key, value in sections[name].items()
                 if key != "enabled" and value in ("", 0, False, [], {})]
        self.assertGreater(len(empty), 10)
        self.assertEqual(self.template(*WITH_MPS, *empty), self.template(*WITH_MPS))

    def test_a_wrong_value_is_named(self):
        for values, message in (*WRONG, *REFUSED):
            with self.subTest(values):
                code, text = self.template(*ON, *split(values))
                self.assertNotEqual(code, 0)
                self.assertIn(message, text)
                self.assertNotIn("nil pointer", text)

    def test_a_value_of_the_section_may_be_for_a_group_alone(self):
        for values in INHERITED:
            code, text = self.template(*ON, *split(values))
            self.assertEqual(code, 0, text)

    def test_the_program_refuses_what_the_chart_refuses(self):
        flags = {"limits": "--limits", "hamiCore": "--hami-core", "modes": "--modes"}
        for values, _ in REFUSED:
            settings = dict(value.removeprefix("agent.").split("=") for value in split(values) if value.startswith("agent."))
            args = [f"{flags[name]}={re.sub('[^-a-z,/]', '', value)}" for name, value in settings.items()]
            self.assertIn("--limits", self.accepts(AGENT, args), values)

    def test_a_flag_of_the_program_is_a_value_or_is_refused_or_is_passed_on(self):
        template = (CHART / "templates/_agent.tpl").read_text()
        for section, program, on in (("agent", AGENT, ON), ("mps", MPS, WITH_MPS)):
            text = re.search(rf'define "snug.{section}Instead" -}}}}\n(.*?){{{{', template, re.S)[1]
            instead = dict(re.findall(r"^([a-z-]+): (set|leave)", text, re.M))
            known = {flag[2:] for flag in flags_of_help(program)}
            self.assertLessEqual(set(instead), known)
            everything = (*WITH_MPS, *(value for values, _ in VALUES if "extraArgs" not in values and "modes" not in values
                                       and "hami" not in values for value in split(values)))
            hami = args_of(self.objects(*ON, "agent.limits=hami-core", "agent.hamiCore=/a"))
            args = args_of(self.objects(*everything), f"snug-{section}") + (hami if program == AGENT else [])
            given = {arg[2:].split("=")[0] for arg in args}
            self.assertEqual(given - {"host-root"}, {name for name, what in instead.items() if what == "set"})
            for flag in known:
                code, text = self.template(*on, f'{section}.extraArgs=["--{flag}=1"]')
                self.assertEqual(code != 0, flag in instead, text)


class GroupsTest(ChartTest):
    GROUPS = [{"name": "mps", "modes": ["whole", "mps"], "limits": "mps"},
              {"name": "mig", "dynamicMig": False, "publishUsage": True, "nodeSelector": {}, "tolerations": [], "exempt": [],
               "resources": {"requests": {"cpu": 1}}}]
    VALUES = (*ON, "agent.groups=" + json.dumps(GROUPS), "agent.dynamicMig=true", 'agent.nodeSelector={"pool":"a"}',
              'agent.exempt=["a/b"]', "mps.enabled=true", "agent.image.repository=r.example/a", "agent.image.tag=1e3",
              'imagePullSecrets=["no"]')

    def test_a_group_has_what_it_does_not_say_from_the_section(self):
        made = self.objects(*self.VALUES)
        self.assertEqual(args_of(made), ["--host-root=/host", "--dynamic-mig", "--exempt=a/b"])
        self.assertEqual(args_of(made, "snug-agent-mps"), [
            "--host-root=/host", "--modes=whole,mps", "--limits=mps", "--dynamic-mig", "--exempt=a/b"])
        self.assertEqual(args_of(made, "snug-agent-mig"), ["--host-root=/host", "--publish-usage"])
        own, mps, mig = (pod_of(made, f"snug-agent{name}") for name in ("", "-mps", "-mig"))
        self.assertEqual([each["nodeSelector"].get("pool") for each in (own, mps, mig)], ["a", "a", None])
        self.assertEqual([each.get("tolerations") for each in (own, mps, mig)], [[{"operator": "Exists"}]] * 2 + [None])
        self.assertEqual(own["containers"][0]["resources"], mps["containers"][0]["resources"])
        self.assertEqual(mig["containers"][0]["resources"], {"requests": {"cpu": 1}})
        for pod in (own, mps, mig, pod_of(made, "snug-mps")):
            self.assertEqual({each["image"] for each in pod["containers"]}, {"r.example/a:1e3"})
            self.assertEqual(pod["imagePullSecrets"], [{"name": "no"}])

    def test_no_node_has_two_agents(self):
        found = daemon_sets(self.objects(*self.VALUES))
        self.assertEqual(set(found), {"snug-agent", "snug-agent-mps", "snug-agent-mig", "snug-mps"})
        places = {name: spec["template"]["spec"]["nodeSelector"] for name, spec in found.items()}
        self.assertEqual({name: place.get("snug.dev/agent") for name, place in places.items()},
                         {"snug-agent": "true", "snug-agent-mps": "mps", "snug-agent-mig": "mig", "snug-mps": None})
        self.assertEqual(places["snug-mps"], {"kubernetes.io/os": "linux", "snug.dev/mps": "true"})
        labels = {name: spec["template"]["metadata"]["labels"].items() for name, spec in found.items()}
        for name, spec in found.items():
            wanted = spec["selector"]["matchLabels"].items()
            self.assertEqual([other for other in labels if wanted <= labels[other]], [name])
            program = "snug-mps" if name == "snug-mps" else "snug-agent"
            self.assertIn(("app.kubernetes.io/name", program), labels[name])

    def test_a_group_is_what_the_guide_makes_by_hand(self):
        page = (ROOT / "docs/how-to/agent.md").read_text()
        values, by_hand = (yaml.safe_load(text) for text in re.findall(
            r"```yaml\n(.*?)```", re.search(r"## Change the arguments\n(.*?)\n## ", page, re.S)[1], re.S))
        made = self.objects(*ON, "agent.groups=" + json.dumps(values["agent"]["groups"]), "mps=" + json.dumps(values["mps"]))
        spec = daemon_sets(made)[by_hand["metadata"]["name"]]
        self.assertEqual(made["DaemonSet", by_hand["metadata"]["name"]]["metadata"]["labels"], by_hand["metadata"]["labels"])
        template, wanted = spec["template"], by_hand["spec"]["template"]
        self.assertEqual(spec["selector"], by_hand["spec"]["selector"])
        self.assertEqual(template["metadata"]["labels"], wanted["metadata"]["labels"])
        self.assertEqual(template["spec"]["nodeSelector"], wanted["spec"]["nodeSelector"])
        self.assertEqual(args_of(made, "snug-agent-mps"), wanted["spec"]["containers"][0]["args"])

    def test_what_stands_beside_the_pods_finds_all_of_them(self):
        made = self.objects(*self.VALUES, "monitoring.agents=true", "openshift=true")
        found = daemon_sets(made)
        monitor = made["PodMonitor", "snug-agent"]
        [wanted] = monitor["spec"]["selector"]["matchExpressions"]
        [endpoint] = monitor["spec"]["podMetricsEndpoints"]
        accounts = set()
        for name, spec in found.items():
            labels = spec["template"]["metadata"]["labels"]
            self.assertIn(labels[wanted["key"]], wanted["values"])
            self.assertIn(endpoint["port"], {port["name"] for port in spec["template"]["spec"]["containers"][0]["ports"]})
            [service] = [value for (kind, _), value in made.items() if kind == "Service"
                         and value["spec"]["selector"].items() <= labels.items()]
            [port] = [each["containerPort"] for each in spec["template"]["spec"]["containers"][0]["ports"]]
            self.assertEqual(service["metadata"]["annotations"]["prometheus.io/port"], str(port), name)
            accounts.add(spec["template"]["spec"]["serviceAccountName"])
        self.assertEqual({made["ServiceAccount", account]["automountServiceAccountToken"] for account in accounts}, {False})
        self.assertEqual(set(made["SecurityContextConstraints", "snug-node"]["users"]),
                         {f"system:serviceaccount:snug-node:{account}" for account in accounts})

    def test_the_account_of_snug_mps_has_no_rights(self):
        made = self.objects(*self.VALUES)
        named = [subject["name"] for value in made.values() for subject in value.get("subjects", ())]
        self.assertIn("snug-agent", named)
        self.assertNotIn("snug-mps", named)
        self.assertEqual(pod_of(made, "snug-mps")["serviceAccountName"], "snug-mps")
        self.assertIs(pod_of(made, "snug-mps")["automountServiceAccountToken"], False)


if __name__ == "__main__":
    unittest.main()
