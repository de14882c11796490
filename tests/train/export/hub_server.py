"""A hub in small: what huggingface_hub calls to create a repository and commit a folder to it."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LARGE_SUFFIXES = (".safetensors",)


@dataclass
class Hub:
    """What the server has been given; `refuse` is the status it answers commits with, 0 for none."""

    url: str = ""
    refuse: int = 0
    token: str = "hf_local"
    created: list[dict[str, Any]] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)


@contextmanager
def hub_server() -> Iterator[Hub]:
    """Serve a fresh hub on 127.0.0.1."""
    hub = Hub()
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._body()
        if "/revision/" in self.path or self.path.startswith("/api/models/"):
            return self._answer({"id": "me/tiny", "sha": "0" * 40, "siblings": []})
        return self._answer({"error": "not found"}, 404)

    def do_PUT(self) -> None:
        self.hub.objects[self.path.rsplit("/", 1)[1]] = self._body()
        self._answer({})

    def do_POST(self) -> None:
        body = self._body()
        if self.headers.get("Authorization") != f"Bearer {self.hub.token}":
            return self._answer({"error": "Invalid credentials"}, 401)
        if self.path == "/api/repos/create":
            self.hub.created.append(json.loads(body))
            return self._answer({"url": f"{self.hub.url}/me/tiny", "name": "me/tiny"})
        if "/preupload/" in self.path:
            return self._answer({"files": [_upload_mode(item) for item in json.loads(body)["files"]]})
        if self.path.endswith("/info/lfs/objects/batch"):
            return self._answer(
                {"transfer": "basic", "objects": [self._action(o) for o in json.loads(body)["objects"]]}
            )
        if "/branch/" in self.path:
            self.hub.branches.append(self.path.rsplit("/", 1)[1])
            return self._answer({})
        if "/commit/" in self.path:
            return self._commit(body)
        return self._answer({"error": "not found"}, 404)

    def _commit(self, body: bytes) -> None:
        if self.hub.refuse:
            return self._answer({"error": "no"}, self.hub.refuse)
        self.hub.commits.append(self.path.rsplit("/", 1)[1])
        for line in body.splitlines():
            record = json.loads(line)
            value = record["value"]
            if record["key"] == "file":
                self.hub.files[value["path"]] = base64.b64decode(value["content"])
            if record["key"] == "lfsFile":
                self.hub.files[value["path"]] = self.hub.objects[value["oid"]]
        url = f"{self.hub.url}/me/tiny/commit/{'1' * 40}"
        return self._answer({"commitUrl": url, "commitOid": "1" * 40, "success": True})

    def _action(self, item: dict[str, Any]) -> dict[str, Any]:
        href = f"{self.hub.url}/upload/{item['oid']}"
        return {**item, "authenticated": True, "actions": {"upload": {"href": href}}}

    def _body(self) -> bytes:
        self.hub.requests.append(f"{self.command} {self.path}")
        if self.headers.get("Transfer-Encoding") == "chunked":
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _answer(self, document: dict[str, Any], status: int = 200) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _upload_mode(item: dict[str, Any]) -> dict[str, Any]:
    mode = "lfs" if item["path"].endswith(LARGE_SUFFIXES) else "regular"
    return {"path": item["path"], "uploadMode": mode, "shouldIgnore": False, "oid": None}
