"""One certificate authority, the certificates that it signs, and kubeconfigs made of them."""

import json
import pathlib
import subprocess


def follow_page(commands, folder):
    """Runs the commands with which a page makes certificates, in that folder."""
    done = subprocess.run(["bash", "-ec", commands], cwd=folder, capture_output=True, text=True,
                          check=False, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"the page's commands failed: {done.stderr.strip()}")


class Pki:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.ca = self.folder / "ca.crt"
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                      "-nodes", "-days", "2", "-subj", "/CN=snug-e2e-ca",
                      "-keyout", "ca.key", "-out", "ca.crt")
        self._openssl("genrsa", "-out", "service-accounts.key", "2048")
        self.service_account_key = self.folder / "service-accounts.key"

    def issue(self, name, common_name, organizations=(), hosts=()):
        """Signs a certificate; returns the paths of certificate and key."""
        subject = "".join(f"/O={group}" for group in organizations) + f"/CN={common_name}"
        extension = self.folder / f"{name}.ext"
        lines = ["extendedKeyUsage=serverAuth,clientAuth"]
        if hosts:
            lines.append("subjectAltName=" + ",".join(hosts))
        extension.write_text("\n".join(lines) + "\n")
        self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                      "-subj", subject, "-keyout", f"{name}.key", "-out", f"{name}.csr")
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key",
                      "-CAcreateserial", "-days", "2", "-extfile", extension.name,
                      "-out", f"{name}.crt")
        return self.folder / f"{name}.crt", self.folder / f"{name}.key"

    def kubeconfig(self, name, server, user):
        """Writes a kubeconfig; `user` is its user entry. JSON is YAML."""
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "e2e", "cluster": {
                "server": server, "certificate-authority": str(self.ca)}}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": name}}],
            "current-context": "e2e",
        }, indent=1))
        return path

    def _openssl(self, *arguments):
        done = subprocess.run(["openssl", *arguments], cwd=self.folder, capture_output=True,
                              text=True, check=False, timeout=60)
        if done.returncode != 0:
            raise RuntimeError(f"openssl {arguments[0]} failed: {done.stderr.strip()}")
