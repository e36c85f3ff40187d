"""The dashboard in Chromium: what it shows is what the API server's annotations say, it can be used with
the keyboard, and it takes nothing that the cluster says for markup. dashboard_pictures.py takes its pictures."""

import gzip
import http.client
import json
import os
import re
import tempfile
import unittest
import urllib.request
from pathlib import Path

import axe
import gpu_cluster
from browser import CHROMIUM, Browser, BrowserError
from dashboard_replies import HISTORY, HOSTILE, hostile_replies
from programs import fetch, post, start_on

MAX_BYTES = 60_000
REQUIRED = os.environ.get("CI") == "true"
PAGES = ("", "#/?by=namespace&size=S", "#/?q=nothing-has-this-name", "#/nodes", "#/pods", "#/policy",
         "#/node/a100", "#/node/broken", "#/node/kubelet", "#/gpu/a100/1", "#/gpu/mig/0", "#/gpu/t4/1", "#/gpu/none/0",
         "#/pod/batch/big?nodes=true", "#/pod/research/two", "#/pod/no/such", "#/nowhere")
# Words that every object of JavaScript has.
INHERITED = ("#/nodes?show=constructor", "#/?by=constructor&size=toString", "#/__proto__")

SETTLED = "!/Reading the|Asking why/.test(document.querySelector('main').textContent)"


def get(url, accept=None):
    request = urllib.request.Request(url, headers={"Accept": accept} if accept else {})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return dict(answer.headers), answer.read()


class Fixture(unittest.TestCase):
    """An extender on the mixed cluster, with two pods that wait, and a browser for all tests of a class."""

    scheme = "light"

    @classmethod
    def setUpClass(cls):
        if CHROMIUM is None and not REQUIRED:
            raise unittest.SkipTest("Chromium is not installed: bash deploy/scripts/setup.sh test")
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.stop)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="snug-dashboard-")
        self.addCleanup(folder.cleanup)
        self.items = gpu_cluster.mixed()
        self.extender, self.verbs, self.admin = start_on(self, gpu_cluster.write(self.items, Path(folder.name) / "cluster.json"))
        for name, value in (("big", "8"), ("typo", "0.25x")):
            self.ask(gpu_cluster.pod(name, "batch", {"gpu-fraction": value}))
        self.page = self.browser.page(1360, 900, self.scheme)
        self.addCleanup(lambda: self.browser.call("Target.closeTarget", targetId=self.page.target))

    def ask(self, pod):
        names = [item["metadata"]["name"] for item in self.items if item["kind"] == "Node"]
        return post(f"{self.verbs}/filter", {"Pod": pod, "Nodes": None, "NodeNames": names})

    def delete(self, namespace, name):
        connection = http.client.HTTPConnection(self.admin.split("//")[1], timeout=10)
        connection.request("DELETE", f"/v1/pods/{namespace}/{name}")
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()

    def open(self, place=""):
        """Opens a page of the dashboard, and waits until it has read what it shows."""
        self.page.open("about:blank")
        self.page.open(f"{self.admin}/{place}")
        self.page.wait("window.snug && snug.store.readAt")
        self.page.wait(SETTLED)

    def show(self, place):
        """Goes from one page of the dashboard to another."""
        self.page.run(f"location.hash = {json.dumps(place or '#/')}; new Promise((done) => setTimeout(done))")
        self.page.wait(SETTLED)

    def text(self, selector="main"):
        return self.page.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def rows(self, selector="main"):
        """The cells of the first table, row by row."""
        return self.page.run(f"[...document.querySelectorAll({json.dumps(selector)} + ' table')].slice(0, 1).flatMap((t) => "
                             "[...t.tBodies[0].rows].map((r) => [...r.cells].map((c) => c.innerText.trim())))")

    def figure(self, name):
        return self.page.run("[...document.querySelectorAll('.figures > div')].find((f) => f.querySelector('dt').textContent === "
                             f"{json.dumps(name)}).querySelector('.number').innerText")

    def no_problems(self):
        self.assertEqual(self.page.problems, [])


class ServedTest(Fixture):
    def test_browsers_get_one_small_page_and_others_the_list_of_endpoints(self):
        headers, body = get(self.admin + "/", "text/html,application/xhtml+xml,*/*;q=0.8")
        self.assertEqual(headers["Content-Type"], "text/html; charset=utf-8")
        self.assertLess(len(gzip.compress(body, 9)), MAX_BYTES)
        self.assertEqual(re.findall(rb"(?:src|@import|url\()[\s=\"']*[\w:/.]+", body), [], "it loads nothing")
        for accept in (None, "*/*", "application/json"):
            headers, body = get(self.admin + "/", accept)
            self.assertIn("/v1/nodes", [row["path"] for row in json.loads(body)["endpoints"]])
            self.assertEqual(headers["Vary"], "Accept")

    def test_the_policy_of_its_content_allows_nothing_unsafe(self):
        headers, _ = get(self.admin + "/", "text/html")
        policy = headers["Content-Security-Policy"]
        self.assertNotIn("unsafe", policy)
        for part in ("default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "connect-src 'self'"):
            self.assertIn(part, policy)
        self.assertEqual((headers["X-Content-Type-Options"], headers["Referrer-Policy"]), ("nosniff", "no-referrer"))

    def test_the_browser_enforces_that_policy(self):
        self.open()
        self.no_problems()
        self.assertEqual({url.split("/")[2] for url in self.page.requests if url.startswith("http")}, {self.admin[7:]})
        refused = self.page.run("""(async () => {
            window.seen = [];
            addEventListener('securitypolicyviolation', (event) => seen.push(event.effectiveDirective));
            const box = document.createElement('p');
            box.setAttribute('style', 'position: fixed');
            document.body.append(box);
            const styled = getComputedStyle(box).position === 'fixed';
            let markup = true, fetched = true;
            try { box.innerHTML = '<img src=x>'; } catch { markup = false; }
            try { await fetch('http://127.0.0.1:9/'); } catch { fetched = false; }
            return {styled, markup, fetched};
        })()""")
        self.assertEqual(refused, {"styled": False, "markup": False, "fetched": False})
        self.page.wait("['connect-src', 'require-trusted-types-for', 'style-src-attr'].every((directive) => seen.includes(directive))")


class MapTest(Fixture):
    def test_the_figures_equal_the_annotations(self):
        self.open()
        devices = [device for item in self.items if "snug.dev/reservation" in item["metadata"].get("annotations", {})
                   for container in json.loads(item["metadata"]["annotations"]["snug.dev/reservation"])["containers"]
                   for device in container["devices"]]
        milli = sum(device["computeMilli"] for device in devices) + 1000  # and one that the kubelet gives
        self.assertEqual(self.figure("GPUs in use"), f"{milli / 1000:g} of 16")
        self.assertEqual(self.figure("Memory in use").split(" of ")[0], f"{sum(device['memoryMiB'] for device in devices) / 1024:.0f} GiB")
        self.assertEqual(self.figure("Free whole GPUs"), "5")
        self.assertEqual(self.figure("Waiting pods"), "2")
        self.assertIn("Malformed", self.text(".overview"))
        self.no_problems()

    def test_every_gpu_has_a_tile_that_its_pods_fill(self):
        self.open()
        tiles = self.page.run("snug.map.order.map(({card, index}) => [card.node.name, index, card.tiles[index].segments.map("
                              "(s) => [s.kind, s.pod ?? '', s.from, s.to])])")
        self.assertEqual(len(tiles), 16)
        shown = {(node, index): segments for node, index, segments in tiles}
        self.assertEqual(shown["mig", 0], [["pod", "slice-a", 0, 0.5], ["pod", "slice-b", 0.5, 0.75], ["vacant", "", 0.75, 0.875]])
        self.assertEqual(shown["mig", 1], [["pod", "slice-c", 0.375, 0.5]])
        self.assertEqual(shown["kubelet", 0], [["kubelet", "", 0, 1]])
        self.assertEqual([round(segment[3], 3) for segment in shown["a100", 0]], [0.25, 0.75, 1])

    def test_neighbouring_pods_have_other_colours(self):
        """On the pixels of the map, for many random nodes, and while pods come and go."""
        self.page.answer({"/v1/nodes": (200, self.many_nodes(1)), "/v1/cluster": (404, {"Error": "none"})})
        self.open("#/?size=L")
        for seed in (1, 2, 3):
            self.page.replies["/v1/nodes"] = (200, self.many_nodes(seed))
            self.page.wait(f"snug.store.version === 'x-{seed}' && snug.map.cards[0]?.node === snug.store.nodes.get(snug.map.cards[0]?.node.name)")
            pairs, same = self.page.run(PIXELS)
            self.assertGreater(pairs, 30)
            self.assertEqual(same, [])

    @staticmethod
    def many_nodes(seed):
        nodes = []
        for item in gpu_cluster.large(14, seed, gpus=6):
            if item["kind"] == "Node":
                rows = json.loads(item["metadata"]["annotations"]["snug.dev/inventory"])["gpus"]
                nodes.append({"name": item["metadata"]["name"], "pool": "auto", "closed": None, "kubeletAssigned": [], "kubeletComputeMilli": 0,
                              "gpus": [{**row, "closed": None, "freeWhole": False, "mode": "none", "usedMemoryMiB": 0, "usedComputeMilli": 0, "holders": []}
                                       for row in rows]})
            else:
                meta = item["metadata"]
                for device in json.loads(meta["annotations"]["snug.dev/reservation"])["containers"][0]["devices"]:
                    gpu = next(node for node in nodes if node["name"] == item["spec"]["nodeName"])["gpus"][device["index"]]
                    gpu["holders"].append({"namespace": meta["namespace"], "pod": meta["name"], "uid": meta["uid"], "container": "main",
                                           "memoryMiB": device["memoryMiB"], "computeMilli": device["computeMilli"]})
                    gpu["usedMemoryMiB"] += device["memoryMiB"]
                    gpu["mode"] = device["mode"]
        return {"generation": seed, "version": f"x-{seed}", "complete": True, "total": len(nodes), "nodes": nodes}

    def test_search_filters_and_colours_are_in_the_address(self):
        self.open()
        self.page.run("document.querySelector('input[type=search]').focus()")
        self.page.press(*"slice")
        self.page.wait("document.querySelector('.count').innerText === '2 of 16 GPUs'")
        self.assertEqual(self.page.run("location.hash"), "#/?q=slice")
        self.assertEqual(self.page.run("snug.map.cards.map((card) => card.node.name)"), ["mig"])
        for hash_, count in (("#/?q=two", "2 of 16 GPUs"), ("#/?show=closed", "1 of 16 GPUs"), ("#/?show=free", "5 of 16 GPUs"), ("#/?show=full", "5 of 16 GPUs"),
                             ("#/?model=Tesla-T4", "2 of 16 GPUs"), ("#/?q=a100+research", "4 of 16 GPUs"), ("#/?by=mode&size=S", "16 GPUs")):
            self.show(hash_)
            self.assertEqual(self.text(".count"), count, hash_)
        self.assertEqual(self.page.run("[...document.querySelectorAll('select')].map((s) => s.value)"), ["all", "", "mode", "S"])
        self.show("#/?q=nothing")
        self.assertIn("No GPU matches", self.text())
        self.no_problems()

    def test_the_keyboard_reaches_every_gpu(self):
        self.open()
        self.page.run("document.querySelector('.toolbar select:last-of-type').focus()")
        for _ in range(8):
            self.page.press("Tab")
            if self.page.run("document.activeElement.id") == "map":
                break
        current = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.getAttribute('aria-label')"
        self.assertTrue(self.page.run(current).startswith("GPU 0 of a100, NVIDIA-A100-SXM4-80GB, time-slicing, 100 % used"))
        for key, start in (("ArrowRight", "GPU 1 of a100"), ("ArrowDown", "GPU 5 of a100"), ("ArrowUp", "GPU 1 of a100"), ("End", "GPU 1 of t4"), ("Home", "GPU 0 of a100"),
                           ("ArrowLeft", "GPU 0 of a100"), ("ArrowRight", "GPU 1 of a100")):
            self.page.press(key)
            self.assertTrue(self.page.run(current).startswith(start + ","), (key, self.page.run(current)))
        self.page.press("Enter")
        self.page.wait("document.activeElement.innerText === 'GPU 1 of a100'")
        self.assertEqual(self.page.run("document.title"), "GPU 1 of a100 · Snug")
        self.no_problems()

    def test_the_pointer_shows_and_opens(self):
        self.open()
        box = self.page.run("(() => {const {x, y} = document.getElementById('map').getBoundingClientRect(); const {place} = snug.map.order[1];"
                            "return [x + place.x + 9, y + place.y + 30];})()")
        self.page.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
        self.page.wait("!document.getElementById('tip').hidden")
        self.assertIn("pod-1-0", self.text("#tip"))
        self.page.click(*box)
        self.page.wait("location.hash === '#/gpu/a100/1'")
        self.no_problems()


PIXELS = """(() => {
  const pixel = (x, y) => {
    const band = Math.floor(y / 480);
    const scale = devicePixelRatio;
    return snug.map.bands.get(band)?.getContext('2d').getImageData(Math.round(x * scale), Math.round((y - band * 480) * scale), 1, 1).data.join();
  };
  let pairs = 0;
  const same = [];
  for (const card of snug.map.cards) {
    let left = null;
    card.tiles.forEach((tile, i) => {
      const place = card.places[i];
      if (tile.segments.length === 0) left = null;
      tile.segments.forEach((segment) => {
        if (segment.to - segment.from < 0.05) return;
        const colour = pixel(place.x + place.w * segment.from + 3, place.y + 20);
        if (colour && left?.colour && left.uid !== segment.uid) {
          ++pairs;
          if (left.colour === colour) same.push([card.node.name, i, left.uid, segment.uid]);
        }
        left = {colour, uid: segment.uid};
      });
    });
  }
  return [pairs, same];
})()"""


class UpdateTest(Fixture):
    def test_a_pod_that_ends_leaves_the_map_without_a_shift_of_the_page(self):
        self.open()
        self.page.run("document.querySelector('input[type=search]').focus()")
        self.page.run("window.kept = snug.store.nodes.get('empty'); window.shifts = 0; new PerformanceObserver((list) => "
                      "list.getEntries().forEach((entry) => { shifts += entry.value; })).observe({type: 'layout-shift', buffered: false})")
        before = len(self.page.requests)
        self.delete("research", "whole")
        self.page.wait("snug.map.order[4].card.tiles[4].segments.length === 0")
        self.assertEqual(self.figure("GPUs in use"), "6.38 of 16")
        self.assertEqual(self.page.run("[shifts, document.activeElement.type, kept === snug.store.nodes.get('empty')]"), [0, "search", True])
        since = [url for url in self.page.requests[before:] if "/v1/nodes" in url]
        self.assertTrue(since and all(re.search(r"since=\w+-\d+$", url) for url in since), since)
        self.no_problems()

    def test_an_unchanged_cluster_is_not_read_again(self):
        self.open()
        before = len(self.page.requests)
        shown = "[snug.map.host.clientHeight, snug.map.bands.size, snug.map.host.getAttribute('aria-activedescendant')]"
        first = self.page.run(shown)
        self.wait_for_polls(before, 3)
        self.assertEqual([url for url in self.page.requests[before:] if "/v1/nodes" in url], [])
        self.assertEqual(self.page.run(shown), first)
        self.assertGreater(first[0] * first[1], 300)
        self.no_problems()

    def test_words_of_the_address_that_every_object_has_are_unknown_ones(self):
        for place in INHERITED:
            self.open(place)
            self.wait_for_polls(len(self.page.requests), 2)
            self.assertTrue(self.page.run("document.querySelector('h1').innerText !== '' && snug.store.readAt !== null"), place)
            self.assertEqual(self.text("#status"), "live")
        self.assertIn("no page of this name", self.text())
        self.no_problems()

    def test_a_page_that_cannot_be_drawn_is_still_updated(self):
        self.open()
        self.page.run("window.failures = 0; window.draw = snug.polling.done; snug.polling.done = () => { ++failures; throw new Error('not drawn'); }")
        self.delete("research", "whole")
        self.page.wait("failures > 0")
        self.wait_for_polls(len(self.page.requests), 2)

    def wait_for_polls(self, before, polls):
        self.browser.wait_until(lambda: sum("/v1/cluster" in url for url in self.page.requests[before:]) >= polls, "polling")

    def test_a_hidden_page_does_not_ask(self):
        self.open()
        self.page.run("Object.defineProperty(document, 'hidden', {value: true, configurable: true}); document.dispatchEvent(new Event('visibilitychange'))")
        self.page.wait("!snug.polling.running && !snug.polling.timer")
        self.page.run("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
        self.page.wait("snug.polling.timer")

    def test_deleted_nodes_and_another_snug_are_noticed(self):
        nodes = {name: {"name": name, "pool": "auto", "closed": None, "gpus": [], "kubeletAssigned": [], "kubeletComputeMilli": 0}
                 for name in ("a", "b", "c")}

        def reply(names, version, complete, total):
            return 200, {"generation": 1, "version": version, "complete": complete, "total": total, "nodes": [nodes[name] for name in names]}
        self.page.answer({"/v1/cluster": (404, {"Error": "none"}), "/v1/nodes?since=": reply("abc", "x-1", True, 3),
                          "/v1/nodes?since=x-1": reply("b", "x-2", False, 3)})
        self.open()
        self.page.wait("snug.store.version === 'x-2'")
        self.page.replies["/v1/nodes?since=x-2"] = reply("", "x-3", False, 2)
        self.page.replies["/v1/nodes?since="] = reply("ac", "x-4", True, 2)
        self.page.replies["/v1/nodes?since=x-4"] = reply("", "x-4", False, 2)
        self.page.wait("snug.store.version === 'x-4' && snug.store.names.join() === 'a,c'")
        self.page.replies["/v1/nodes?since=x-4"] = reply("b", "y-1", True, 1)
        self.page.replies["/v1/nodes?since=y-1"] = reply("", "y-1", False, 1)
        self.page.wait("snug.store.version === 'y-1' && snug.store.names.join() === 'b'")

    def test_what_is_wrong_with_snug_stands_above_the_page(self):
        self.page.answer({"/readyz": (503, "not ready: nodes are not listed yet")})
        self.open()
        self.page.wait("document.getElementById('banner').innerText.includes('nodes are not listed yet')")
        self.assertEqual(self.text("#status"), "not ready")
        self.page.replies["/readyz"] = (200, "ok: standby, snug-1 leads")
        self.page.wait("document.getElementById('banner').innerText.includes('standby, snug-1 leads')")
        self.page.answer({})
        self.page.wait("document.getElementById('banner').hidden")
        self.assertEqual(self.text("#status"), "live")
        self.extender.terminate()
        self.page.wait("document.getElementById('banner').innerText.startsWith('Snug cannot be reached')")
        self.assertEqual(self.text("#status"), "not reachable")
        self.assertEqual(self.page.run("snug.map.order.length"), 16, "the last state stays")

    def test_a_cluster_without_gpus_says_so(self):
        for items, sentence in (([], "No node yet"), ([gpu_cluster.node("cpu")], "No GPU yet")):
            with tempfile.TemporaryDirectory() as folder:
                _, _, self.admin = start_on(self, gpu_cluster.write(items, Path(folder) / "cluster.json"))
                self.open()
                self.assertIn(sentence, self.text())
        self.no_problems()


class PagesTest(Fixture):
    def test_a_node_that_is_closed_to_annotated_pods_has_free_gpus(self):
        labels = {"nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.count": "8", "nvidia.com/gpu.memory": "16384"}
        ill = gpu_cluster.node("ill", labels=labels, capacity={"nvidia.com/gpu": "8"})
        ill["status"]["allocatable"] = {"nvidia.com/gpu": "7"}
        items = [ill, gpu_cluster.node("mig", [gpu_cluster.gpu("mig", 0, "A100-40", mig=True)])]
        with tempfile.TemporaryDirectory() as folder:
            _, _, self.admin = start_on(self, gpu_cluster.write(items, Path(folder) / "cluster.json"))
            self.open()
        self.assertEqual(self.figure("Free whole GPUs"), "7")
        self.assertEqual(self.page.run("snug.map.order.map(({card, index}) => `${card.tiles[index].state} ${card.tiles[index].mode}`)"),
                         ["open none", *["open free"] * 7, "open none"])
        for place, count in (("#/?show=free", "7 of 9 GPUs"), ("#/?show=closed", "0 of 9 GPUs")):
            self.show(place)
            self.assertEqual(self.text(".count"), count)
        self.show("#/nodes")
        self.assertEqual([(row[0], row[6]) for row in self.rows()], [("ill", "7"), ("mig", "0")])
        self.assertIn("to annotated pods: Unhealthy", self.rows()[0][7])
        self.show("#/gpu/ill/1")
        self.assertIn("Its node is closed: to annotated pods: Unhealthy", self.text(".callout"))
        self.no_problems()

    def test_a_model_that_has_vanished_and_an_explanation_of_many_nodes(self):
        nodes = MapTest.many_nodes(1)
        nodes["nodes"][0]["gpus"][0].update(model="", healthy=False, closed="vanished")
        models = [{"model": name, "gpus": 1, "memoryMiB": 1, "usedMemoryMiB": 0, "usedComputeMilli": 0, "freeWholeGpus": 0} for name in ("", "A", "B")]
        cluster = {**fetch(self.admin + "/v1/cluster")[1], "models": models}
        explained = fetch(f"{self.admin}/v1/explain?namespace=batch&pod=big&nodes=true")[1]
        explained["perNode"] = [{**explained["perNode"][0], "node": f"node-{number}"} for number in range(250)]
        self.page.answer({"/v1/nodes": (200, nodes), "/v1/cluster": (200, cluster), "/v1/explain": (200, explained)})
        self.open()
        self.assertIn("(vanished)", self.text(".overview .stack"))
        self.assertEqual(self.page.run("[...document.querySelectorAll('select')[1].options].map((option) => option.value)"), ["", "A", "B"])
        self.show("#/pod/batch/big?nodes=true&page=3")
        self.assertIn("Page 3 of 3", self.text())
        self.assertIn("node-249", self.text())
        self.no_problems()

    def test_the_pages_of_nodes_and_gpus(self):
        self.open("#/nodes")
        self.assertEqual([row[0] for row in self.rows()], ["a100", "broken", "empty", "kubelet", "mig", "t4"])
        self.show("#/node/a100")
        self.assertEqual(len(self.rows()), 8)
        self.assertEqual(self.rows()[2][4:7], ["80 GiB of 80 GiB", "100 %", "research/two"])
        self.show("#/gpu/mig/0")
        self.assertEqual(self.rows(), [["vision/slice-a", "main", "3g.20gb at 0", "19.5 GiB", "42.8 %"], ["vision/slice-b", "main", "2g.10gb at 4", "9.63 GiB", "28.5 %"]])
        self.assertIn("1g.5gb, no pod", self.text())
        for place, words, *selector in (("node/kubelet", "batch/trainer"), ("node/broken", "BadInventory", ".callout"), ("gpu/t4/1", "unhealthy")):
            self.show(f"#/{place}")
            self.assertIn(words, self.text(*selector))
        self.show("#/node/empty")
        self.assertEqual(self.text(".title").split("\n")[1:], ["pool auto", "agent: fail-closed, limits driver"], "no heartbeats in this mode: it is open")
        self.no_problems()

    def test_the_pages_of_pods(self):
        self.open("#/pods?state=pending")
        self.assertEqual([row[:2] for row in self.rows()], [["batch/big", "pending"], ["batch/typo", "pending"]])
        pods = fetch(self.admin + "/v1/pods")[1]["pods"]
        self.open("#/pods")
        self.assertEqual(self.text(".count"), f"{len(pods)} pods")
        self.no_problems()

    def test_the_page_of_a_pod_has_its_explanation(self):
        def explain(namespace, pod):
            return fetch(f"{self.admin}/v1/explain?namespace={namespace}&pod={pod}&nodes=true")[1]
        self.open("#/pod/batch/big")
        big = explain("batch", "big")
        self.assertTrue(big["advice"] and big["blockers"] and big["reasons"])
        sentences = [big["request"][0]["asks"], *(f"{row['code']}\t{row['nodes']}" for row in big["reasons"]), *(row["sentence"] for row in big["reasons"]),
                     *(row["sentence"][1:] for row in big["advice"]), *(f"{row['namespace']}/{row['pod']}" for row in big["blockers"]),
                     "It fits on none of 7 nodes", big["nearest"]["sentence"].partition(": ")[2]]
        for sentence in sentences:
            self.assertIn(sentence, self.text())
        self.page.run("[...document.querySelectorAll('main a')].find((a) => a.innerText.startsWith('Each node')).click()")
        self.page.wait("document.querySelector('main').innerText.includes('What it lacks')")
        for row in big["perNode"]:
            self.assertIn(row["sentence"].partition(": ")[2], self.text())
        self.show("#/pod/research/two")
        placement = explain("research", "two")["placement"]
        for text in ("GPU 2 of a100", "GPU 3 of a100", f"Score of {placement['runnerUp']['node']}", f"{placement['total']:,}", *(row["term"] for row in placement["terms"])):
            self.assertIn(text, self.text())
        self.show("#/pod/batch/typo")
        self.assertIn('gpu-fraction is "0.25x"', self.text(".callout"))
        self.no_problems()
        self.show("#/pod/no/such")
        self.assertIn("There is no explanation: pod no/such is neither pending nor holds a GPU", self.text())

    def test_the_policy_and_the_history(self):
        self.open("#/policy")
        self.assertEqual(self.text("pre").strip(), fetch(self.admin + "/v1/policy")[1]["yaml"].strip())
        self.page.answer({"/v1/history": (200, HISTORY)})
        self.open()
        self.assertEqual(self.page.run("document.querySelectorAll('.chart path').length"), 3)
        self.assertIn("compute 60 %", self.page.run("document.querySelector('.chart').getAttribute('aria-label')"))
        self.no_problems()

    def test_what_the_cluster_says_is_never_markup(self):
        self.page.answer(hostile_replies())
        self.open()
        for place in ("", "#/?by=namespace", "#/nodes", "#/pods", "#/policy", f"#/node/{HOSTILE_PART}", f"#/gpu/{HOSTILE_PART}/0",
                      f"#/pod/{HOSTILE_PART}/{HOSTILE_PART}", f"#/{HOSTILE_PART}", f"#/?q={HOSTILE_PART}", "#/node/%E0%A4%A"):
            self.show(place)
            self.assertEqual(self.page.run("[document.querySelectorAll('main img, main script, main iframe').length, window.hacked]"), [0, None], place)
        self.show("#/pods")
        self.assertIn(HOSTILE, self.text())
        self.show("#/policy")
        self.assertIn(HOSTILE, self.text("pre"))
        self.no_problems()


HOSTILE_PART = urllib.request.quote(HOSTILE, safe="")


class AccessTest(Fixture):
    """axe-core finds nothing on any page, in both themes."""

    def test_every_page_in_both_themes(self):
        try:
            script = axe.script()
        except OSError as error:
            if REQUIRED:
                raise
            self.skipTest(str(error))
        self.page.answer({"/v1/history": (200, HISTORY), "/readyz": (200, "ok: standby, snug-1 leads")})
        self.page.call("Page.setBypassCSP", enabled=True)  # for axe, whose script the page would refuse
        for scheme, rules in (("light", {}), ("dark", {"runOnly": ["color-contrast", "link-in-text-block"]})):  # what else is there does not depend on the theme
            self.page.show(1360, 900, scheme)
            self.open()
            self.page.call("Runtime.evaluate", expression=script)
            rules = json.dumps({**rules, "resultTypes": ["violations"]})
            for place in PAGES:
                with self.subTest(scheme=scheme, page=place):
                    self.show(place)
                    found = self.page.run(f"axe.run(document, {rules}).then((result) => result.violations.map("
                                          "(rule) => `${rule.id}: ${rule.nodes.map((node) => `${node.html} ${node.failureSummary}`).join(' ')}`))")
                    self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
