"""The alerts of deploy/alerts, in Prometheus' own promtool: the rules are valid, each fires and stays
silent as tests/alerts/cases.yaml says, and the series that they query are served."""

import re
import tempfile
import unittest
import urllib.request
from pathlib import Path

import yaml

from programs import ROOT, run, start_agent, start_extender, start_mps

RULES = ROOT / "deploy/alerts/rules.yaml"
OPERATOR = ROOT / "deploy/alerts/prometheusrule.yaml"
CASES = ROOT / "tests/alerts/cases.yaml"
# `name{label="value",…}`, with or without the labels; a rule may also say `!=`.
SELECTOR = re.compile(r'(snug_\w+)(?:\{(\w+!?="[^"]*"(?:,\w+!?="[^"]*")*)\})?')


def selected(labels, have):
    """Whether a series with the labels `have` is one that the selector's labels choose. It must have each of
    them, though Prometheus lets `!=` choose series without."""
    values = dict(label.split("=", 1) for label in have if label)
    wanted = re.findall(r'(\w+)(!?)=("[^"]*")', labels)
    return all(key in values and (values[key] == value) != bool(other) for key, other, value in wanted)


def promtool_test(case, rule):
    """One case in the form of `promtool test rules`."""
    annotations = {**rule["annotations"], **({"summary": case["summary"]} if "summary" in case else {})}
    fires = [{"exp_labels": {**rule["labels"], **labels}, "exp_annotations": annotations} for labels in case["fires"]]
    return {"interval": "1m",
            "input_series": [{"series": name, "values": str(values)} for name, values in case["series"].items()],
            "alert_rule_test": [{"alertname": case["alert"], "eval_time": f"{case['at']}m", "exp_alerts": fires}]}


class AlertsTest(unittest.TestCase):
    def setUp(self):
        self.plain = yaml.safe_load(RULES.read_text())
        self.rules = {rule["alert"]: rule for group in self.plain["groups"] for rule in group["rules"]}

    def promtool_says(self, cases):
        """The output of promtool for these cases; empty: all is as they say."""
        with tempfile.TemporaryDirectory(prefix="snug-alerts-") as folder:
            file = Path(folder) / "test.yaml"
            tests = [promtool_test(case, self.rules[case["alert"]]) for case in cases]
            file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "tests": tests}, width=1000))
            done = run("promtool", "test", "rules", file)
            return "" if done.returncode == 0 else done.stdout

    def test_both_files_have_the_same_groups(self):
        operator = yaml.safe_load(OPERATOR.read_text())
        self.assertEqual((operator["apiVersion"], operator["kind"]), ("monitoring.coreos.com/v1", "PrometheusRule"))
        self.assertEqual(operator["spec"], self.plain)

    def test_promtool_finds_nothing_wrong_with_the_rules(self):
        done = run("promtool", "check", "rules", "--lint-fatal", RULES)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_each_rule_has_the_form_of_an_alert(self):
        self.assertEqual(len(self.rules), sum(len(group["rules"]) for group in self.plain["groups"]))
        for name, rule in self.rules.items():
            with self.subTest(name):
                self.assertLessEqual(set(rule), {"alert", "expr", "for", "labels", "annotations"})
                self.assertRegex(name, r"^Snug[A-Za-z]+$")
                self.assertRegex(rule.get("for", "1m"), r"^\d+m$")
                self.assertIn(rule["labels"]["severity"], ("critical", "warning"))
                self.assertTrue(rule["annotations"]["summary"])

    def test_each_description_names_its_heading_of_the_runbook(self):
        for name, rule in self.rules.items():  # tests/tidy compares the headings with the alerts
            self.assertTrue(rule["annotations"]["description"].endswith(f'See docs/operations.md, "{name}".'), name)

    def test_each_series_is_served_from_the_start(self):
        folder = tempfile.TemporaryDirectory(prefix="snug-alerts-")
        self.addCleanup(folder.cleanup)
        served = []
        for admin in (start_extender(self)[1], start_agent(self, folder.name), start_mps(self, folder.name)):
            with urllib.request.urlopen(admin + "/metrics", timeout=10) as answer:
                served += [(match[1], set((match[2] or "").split(",")))
                           for match in map(SELECTOR.match, answer.read().decode().splitlines()) if match]
        for rule in self.rules.values():
            for name, labels in SELECTOR.findall(rule["expr"]):
                if name.startswith("snug_webhook_"):  # only where there is a webhook
                    continue
                self.assertTrue(any(name == each and selected(labels, have) for each, have in served),
                                f"{rule['alert']}: nothing serves {name}{{{labels}}}")

    def test_each_alert_fires_and_stays_silent_as_the_cases_say(self):
        cases = yaml.safe_load(CASES.read_text())
        output = self.promtool_says(cases)
        if output:
            for case in cases:  # which one it is
                with self.subTest(case["alert"], case=case["case"]):
                    self.assertEqual(self.promtool_says([case]), "")
            self.fail(output)

    def test_each_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not(self):
        cases = yaml.safe_load(CASES.read_text())
        for fires in (True, False):
            with self.subTest(fires=fires):
                self.assertEqual({case["alert"] for case in cases if bool(case["fires"]) == fires}, set(self.rules))

    def test_a_case_that_is_wrong_fails(self):
        for case in yaml.safe_load(CASES.read_text()):
            if case["alert"] == "SnugPodsPending":
                wrong = {**case, "fires": [] if case["fires"] else [{"instance": "a", "reason": "NoRoom"}]}
                self.assertNotEqual(self.promtool_says([wrong]), "", case["case"])


if __name__ == "__main__":
    unittest.main()
