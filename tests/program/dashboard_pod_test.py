"""The dashboard's pages of a pod and of the policy, with made-up replies."""

import unittest

from dashboard_test import Fixture
from programs import fetch


class PodPageTest(Fixture):
    def test_a_placement_says_what_decided(self):
        explained = fetch(f"{self.admin}/v1/explain?namespace=research&pod=two")[1]
        self.page.answer({"/v1/explain": (200, explained)})
        self.open()

        def scores(node, total, score_class, terms):
            return {"node": node, "total": total, "scoreClass": score_class, "quantum": 10, "terms": terms}
        term = {"term": "spread", "weight": 1, "value": 21, "score": 21}
        other = {**term, "term": "best-fit"}
        worse, equal = "kube-scheduler chose this node; Snug's best was n2.", "Both scores are in the same step of 10 (quantum): equally good"
        for number, (node, decided, chosen, runner_up, title, sentence) in enumerate((
                ("n1", "at bind", ("n1", 21, 3), ("n2", 28, 3), "Why node n1: profile p, scores when it was bound", f"{equal}; the node with the lower name wins."),
                ("n1", "at bind", ("n1", 21, 3), ("n2", 38, 4), "Why node n1: profile p, scores when it was bound", worse),
                ("n3", "at bind", ("n3", 28, 3), ("n2", 21, 3), "Why node n3: profile p, scores when it was bound", f"{equal}. {worse}"),
                ("n1", "now", ("n1", 21, 3), ("n2", 38, 4), "Why node n1: profile p, scores as of now", "The best node would now be n2."),
                (None, "now", ("n1", 21, 3), ("n2", 21, 3), "The best node is n1: profile p, scores as of now", "Equal scores: the node with the lower name wins."))):
            placement = {**scores(*chosen, [term]), "profile": "p", "decided": decided, "runnerUp": scores(*runner_up, [other])}
            shown = {**explained, "placement": placement}
            shown.pop("node")
            self.page.replies["/v1/explain"] = (200, {**shown, "node": node} if node else {**shown, "state": "pending"})
            self.show("#/")
            self.show(f"#/pod/research/two-{number}")
            with self.subTest(title=title, sentence=sentence):
                for text in (title, sentence, "spread\t1\t21\t21\t-", f"Score class\t\t\t{chosen[2]}\t{runner_up[2]}"):
                    self.assertIn(text, self.text())
        self.no_problems()


class PolicyPageTest(Fixture):
    def test_an_open_policy_page_sees_the_policy_of_another_process(self):
        def replies(process, generation):
            nodes = {"generation": generation, "version": f"{process}-1", "complete": True, "total": 0, "nodes": []}
            cluster = {**fetch(self.admin + "/v1/cluster")[1], "generation": generation, "policy": {"generation": 1, "default": process}}
            return {"/v1/nodes": (200, nodes), "/v1/cluster": (200, cluster), "/v1/policy": (200, {"generation": 1, "source": "f", "yaml": f"of {process}"})}
        self.page.answer(replies("first", 1))
        self.open("#/policy")
        self.assertEqual(self.text("pre").strip(), "of first")
        self.page.replies = replies("second", 2)
        self.page.wait("document.querySelector('pre').innerText.trim() === 'of second'")
        self.no_problems()


if __name__ == "__main__":
    unittest.main()
