"""Metrics and dashboard with a real Prometheus, which scrapes an extender in the embedded mode:
promtool finds nothing wrong with a scrape, the scrape agrees with /v1/cluster, and each query of
deploy/grafana/snug.json parses and finds data."""

import json
import math
import re
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import yaml

from cluster_test import TwoNodes, pod
from programs import ROOT, fetch, run, start, start_agent

SCRAPE = ROOT / "deploy/alerts/scrape.yaml"
RULES = ROOT / "deploy/alerts/rules.yaml"
DASHBOARD = json.loads((ROOT / "deploy/grafana/snug.json").read_text())
SECONDS = 240  # until the last query must have found data; reached only by a failure

# Queries without data here, and why. Anything else without data fails.
NO_DATA = {
    r"snug_webhook_(?:healthy|certificate)": "there is no webhook in the embedded mode",
    r"snug_watch_restarts_total": "no watch ends in the embedded mode",
    r"snug_reservation_problems_total": "there is no problem",
    r"snug_api_requests_total\[.*> 0$": "the embedded mode sends no requests to an API server",
}
# Queries whose only value is NaN.
NOT_A_NUMBER = {
    r"snug_api_request_duration_seconds_bucket": "the embedded mode sends no requests to an API server",
}


def reason_for(table, query):
    return next((reason for pattern, reason in table.items() if re.search(pattern, query)), None)


def panels():
    for panel in DASHBOARD["panels"]:
        yield panel
        yield from panel.get("panels", [])


def queries():
    """(title of the panel, query) of the dashboard, as Grafana would send them."""
    for panel in panels():
        for target in panel.get("targets", []):
            query = target["expr"].replace("$__rate_interval", "30s").replace("$node", ".*")
            yield panel["title"], query


def listening_port(process):
    """The port on which the process listens; None: none yet."""
    try:
        sockets = {link.readlink().name for link in Path(f"/proc/{process.pid}/fd").iterdir() if link.is_symlink()}
    except OSError:
        return None
    for row in Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]:
        words = row.split()
        if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
            return int(words[1].rpartition(":")[2], 16)
    return None


class PrometheusTest(TwoNodes):
    def setUp(self):
        self.start_extender(*self.flags())
        self.place(pod("team-a", "a", gpu_fraction="0.5"))
        self.place(pod("team-b", "b", gpu_memory="4Gi", gpu_count="2"))
        self.filter(pod("team-b", "big", gpu_fraction="8"))

    def flags(self):
        return ["--gpu-metrics=false"] if "switched_off" in self.id() else []

    def scrape(self):
        with urllib.request.urlopen(self.admin + "/metrics", timeout=10) as answer:
            return answer.read().decode()

    def values(self, name):
        """{labels: value} of a metric."""
        rows = re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)$", self.scrape(), re.M)
        return {labels: float(value) for labels, value in rows}

    def start_prometheus(self):
        """The URL of a Prometheus that scrapes the extender five times a second. Its configuration is deploy/'s
        but for the address, which comes from no DNS here."""
        settings = yaml.safe_load(SCRAPE.read_text())
        job, *_ = settings["scrape_configs"]  # the others are for agents and snug-mps
        settings["scrape_configs"] = [job]
        del job["dns_sd_configs"]
        job["static_configs"] = [{"targets": [self.admin.removeprefix("http://")],
                                  "labels": {"namespace": "snug", "node": "other"}}]
        config = self.folder / "prometheus.yml"
        config.write_text(json.dumps({"global": {"scrape_interval": "200ms", "evaluation_interval": "1s"}, **settings}))
        process = start(self, "prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder / 'data'}",
                        "--web.listen-address=127.0.0.1:0", "--log.level=error")
        end = time.monotonic() + SECONDS
        while (port := listening_port(process)) is None:
            self.assertIsNone(process.poll(), "Prometheus has ended")
            self.assertLess(time.monotonic(), end, "Prometheus does not listen")
        return f"http://127.0.0.1:{port}"

    def ask(self, prometheus, query):
        """The series that the query finds, as [labels, value]; an invalid query fails."""
        url = f"{prometheus}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        try:
            _, answer = fetch(url)
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it starts
                return []
            self.fail(f"{query}: {error.read().decode()}")
        self.assertEqual(answer["status"], "success", query)
        return [(series["metric"], float(series["value"][1])) for series in answer["data"]["result"]]

    def test_promtool_finds_nothing_wrong_with_a_scrape(self):
        file = self.folder / "metrics.txt"
        with urllib.request.urlopen(start_agent(self, self.folder) + "/metrics", timeout=10) as answer:
            of_agent = answer.read().decode()
        for text in (self.scrape(), of_agent):
            file.write_text(text)
            done = run("bash", "-c", f"promtool check metrics < {file}")
            self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_a_scrape_agrees_with_the_cluster(self):
        _, cluster = fetch(self.admin + "/v1/cluster")
        mebibyte = 1 << 20
        for name, key, unit in (("snug_memory_capacity_bytes", "memoryMiB", mebibyte),
                                ("snug_memory_reserved_bytes", "usedMemoryMiB", mebibyte),
                                ("snug_compute_reserved_gpus", "usedComputeMilli", 1e-3),
                                ("snug_compute_capacity_gpus", "computeMilli", 1e-3),
                                ("snug_whole_gpus_free", "freeWholeGpus", 1),
                                ("snug_fragmented_gpus", "fragmentedMilli", 1e-3),
                                ("snug_free_gpus", "freeMilli", 1e-3),
                                ("snug_gpu_memory_reserved_bytes", "usedMemoryMiB", mebibyte),
                                ("snug_gpu_compute_reserved_ratio", "usedComputeMilli", 1e-3)):
            self.assertAlmostEqual(sum(self.values(name).values()), cluster[key] * unit, msg=name)
        self.assertEqual(self.values("snug_namespace_compute_reserved_gpus"),
                         {f'namespace="{row["namespace"]}"': row["computeMilli"] / 1000 for row in cluster["namespaces"]})
        pending = {labels: pods for labels, pods in self.values("snug_pending_gpu_pods").items() if pods}
        self.assertEqual(pending, {f'reason="{row["code"]}"': row["pods"] for row in cluster["pending"]})
        self.assertEqual(self.values("snug_refusals_total")['reason="TooLarge"'], 1)

    def test_series_of_single_gpus_can_be_switched_off(self):
        self.assertEqual(self.values("snug_gpu_open"), {})
        self.assertEqual(self.values("snug_gpus_without_series"), {"": 6})

    def test_each_query_of_the_dashboard_finds_data(self):
        prometheus = self.start_prometheus()
        found = dict.fromkeys((query for _, query in queries()), False)
        self.assertGreater(len(found), 50)
        end = time.monotonic() + SECONDS
        asked = 0
        while missing := [query for query in found if not found[query] and not reason_for(NO_DATA, query)]:
            self.assertLess(time.monotonic(), end, f"without data: {missing}")
            asked += 1  # a refusal more, so that the rates are not 0
            self.filter(pod("team-b", f"big-{asked}", gpu_fraction="8"))
            for query in missing:
                found[query] = any(self.numbers(prometheus, query))
        for query in found:
            if why := reason_for(NO_DATA, query):
                self.assertEqual(self.ask(prometheus, query), [], f"{query} finds data, although {why}")
        for pattern in [*NO_DATA, *NOT_A_NUMBER]:
            self.assertTrue(any(re.search(pattern, query) for query in found), f"no query needs {pattern}")

    def numbers(self, prometheus, query):
        """For each series that the query finds: whether its value is a number. Those of NOT_A_NUMBER count
        as numbers if they are none."""
        wanted = reason_for(NOT_A_NUMBER, query) is None
        return [math.isnan(value) != wanted for _, value in self.ask(prometheus, query)]

    def test_the_scrape_configuration_is_valid_and_asks_the_service(self):
        done = run("promtool", "check", "config", SCRAPE)
        self.assertEqual(done.returncode, 0, done.stdout)
        jobs = yaml.safe_load(SCRAPE.read_text())["scrape_configs"]
        for job, manifest in zip(jobs, ("dedicated.yaml", "agent.yaml", "mps.yaml"), strict=True):
            [service] = [value for value in yaml.safe_load_all((ROOT / "deploy" / manifest).read_text())
                         if value["kind"] == "Service"]
            metadata, [port] = service["metadata"], service["spec"]["ports"]
            self.assertEqual(job["dns_sd_configs"], [
                {"names": [f"_{port['name']}._tcp.{metadata['name']}.{metadata['namespace']}.svc"]}])
            self.assertEqual(service["spec"]["clusterIP"], "None", "the DNS would have one address for all replicas")

    def test_a_snug_that_is_scraped_is_not_absent(self):
        prometheus = self.start_prometheus()
        [absent] = [rule["expr"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
                    if rule["alert"] == "SnugAbsent"]
        end = time.monotonic() + SECONDS
        while not self.ask(prometheus, 'up{job="snug"} == 1'):
            self.assertLess(time.monotonic(), end, "Prometheus does not scrape Snug")
        self.assertEqual(self.ask(prometheus, absent), [])

    def test_the_labels_of_a_namespace_and_of_a_node_are_those_of_snug(self):
        prometheus = self.start_prometheus()
        end = time.monotonic() + SECONDS
        while not (series := self.ask(prometheus, "snug_namespace_pods")):
            self.assertLess(time.monotonic(), end)
        self.assertEqual({labels["namespace"] for labels, _ in series}, {"team-a", "team-b"})
        self.assertEqual({labels["node"] for labels, _ in self.ask(prometheus, "snug_gpu_open")}, {"n1", "n2"})


class DashboardTest(unittest.TestCase):
    """The form of the dashboard, as far as Grafana is not needed to judge it."""

    def test_panels_have_ids_titles_and_places_of_their_own(self):
        ids = [panel["id"] for panel in panels()]
        self.assertEqual(len(set(ids)), len(ids))
        taken = {}
        for panel in panels():
            self.assertTrue(panel["title"])
            place = panel["gridPos"]
            for cell in ((place["x"] + i, place["y"] + j) for i in range(place["w"]) for j in range(place["h"])):
                self.assertLess(cell[0], 24, panel["title"])
                self.assertNotIn(cell, taken, f"{panel['title']} and {taken.get(cell)}")
                taken[cell] = panel["title"]

    def test_every_query_has_the_chosen_data_source(self):
        for panel in panels():
            for holder in [panel, *panel.get("targets", [])] if panel["type"] != "row" else []:
                self.assertEqual(holder["datasource"], {"type": "prometheus", "uid": "${datasource}"}, panel["title"])

    def test_only_its_own_variables_are_used(self):
        own = {variable["name"] for variable in DASHBOARD["templating"]["list"]} | {"__rate_interval", "__all"}
        self.assertLessEqual(set(re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD))), own)


if __name__ == "__main__":
    unittest.main()
