"""The load generator of the benchmarks of this folder."""

import threading
import time

from harness.scenario import PODS

# So many that posting keeps ahead of the scheduler, at least without an extender.
POSTERS = 32
WARM_UP_PODS = 20
QPS = 5000  # of every client: none is to wait for its own limit
RUN_SECONDS = 300  # in which a run must end
OWN_POD = "snug-0"  # of Snug, which runs beside the API server


def post_all(api, bodies):
    """Posts rendered pods from several threads; returns when the first POST was sent."""
    failures = []

    def post(part):
        for body in part:
            status, answer = api.send("POST", PODS, body)
            if status != 201:
                failures.append(answer)
                return
    threads = [threading.Thread(target=post, args=(bodies[start::POSTERS],))
               for start in range(POSTERS)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise RuntimeError(f"a pod could not be posted: {failures[0][:300]!r}")
    return started
