#!/usr/bin/env python3
"""A stand-in for kubectl: what snugctl asks it for, with a real forward of a local port.

It reads its orders from the JSON file $FAKE_KUBECTL:
  pods: lines for `get pods`; nodes: names for `get nodes`; namespace: that of the context;
  admin: {pod: "HOST:PORT" where a port-forward leads};
  created: a file to which each manifest of `create` is appended; pods_are: {last word of the name of such a
  pod: {part: keys that it has for `get pods --output=json`}}; refuse: {the same word: why `create` fails}; replies: {first two words: what is printed};
  fail: {first words of a command: [message on stderr, exit code]}; log: the file to which each command
  is appended, with the process id, as a line of JSON.
"""

import contextlib
import json
import os
import socket
import sys
import threading


def pump(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def forward(listener, address):
    host, port = address.rsplit(":", 1)
    while True:
        client, _ = listener.accept()
        print(f"Handling connection for {listener.getsockname()[1]}", flush=True)
        try:
            server = socket.create_connection((host, int(port)))
        except OSError as error:
            print(f"E1127 01:38:38.123456   17669 portforward.go:424] an error occurred forwarding: {error.strerror}", file=sys.stderr, flush=True)
            client.close()
            continue
        for pair in ((client, server), (server, client)):
            threading.Thread(target=pump, args=pair, daemon=True).start()


def port_forward(words, orders):
    pod = next(word for word in words if word.startswith("pod/")).removeprefix("pod/")
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"Forwarding from 127.0.0.1:{listener.getsockname()[1]} -> {words[-1].lstrip(':')}", flush=True)
    forward(listener, orders["admin"][pod])


def create(orders):
    pod = json.load(sys.stdin)
    if refusal := orders.get("refuse", {}).get(kind_of(pod)):
        print(refusal, file=sys.stderr)
        return 1
    with open(orders["created"], "a", encoding="utf-8") as file:
        file.write(json.dumps(pod) + "\n")
    return 0


def kind_of(pod):
    return pod["metadata"]["name"].split("-", 3)[3]


def created_pods(orders):
    """The pods that were created, each as the orders for its name's last word say."""
    pods = []
    with open(orders["created"], encoding="utf-8") as file:
        for line in file:
            pod = json.loads(line)
            for part, value in orders["pods_are"].get(kind_of(pod), {}).items():
                pod[part] = {**pod.get(part, {}), **value}
            pods.append(pod)
    return pods


def main():
    with open(os.environ["FAKE_KUBECTL"], encoding="utf-8") as file:
        orders = json.load(file)
    words = sys.argv[1:]
    with open(orders["log"], "a", encoding="utf-8") as log:
        log.write(json.dumps({"pid": os.getpid(), "words": words}) + "\n")
    for begin, (message, code) in orders.get("fail", {}).items():
        if " ".join(words).startswith(begin):
            print(message, file=sys.stderr)
            return code
    if words[0] == "port-forward":
        port_forward(words, orders)
    elif words[0] == "create":
        return create(orders)
    elif words[:2] == ["get", "pods"] and "--output=json" in words:
        print(json.dumps({"items": created_pods(orders)}))
    elif " ".join(words[:2]) in orders.get("replies", {}):
        print(orders["replies"][" ".join(words[:2])], end="")
    elif words[:2] == ["get", "pods"]:
        print(orders["pods"], end="")
    elif words[:2] == ["get", "nodes"]:
        print("".join(f"{node}\n" for node in orders.get("nodes", [])), end="")
    elif words[:2] == ["config", "view"]:
        print(orders.get("namespace", ""), end="")
    else:
        print(f"error: unknown command {words}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
