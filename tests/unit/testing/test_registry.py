"""The schema registry for tests."""

from __future__ import annotations

import httpx
import pytest

from thalweg.testing.registry import RESET, TestRegistry


def test_the_protocol() -> None:
    """Versions, ids and GUIDs are found; what is not there has the protocol's own codes."""
    with TestRegistry("/base") as server, httpx.Client(base_url=server.url, trust_env=False) as http:
        first = http.post("/subjects/a%2Fb/versions", json={"schema": '"int"'}).json()["id"]
        second = server.add("a/b", '"long"', references=(("N", "n", 1),))
        assert http.get("/subjects").json() == {"subjects": ["a/b"]}
        assert http.get("/subjects/a%2Fb/versions/1").json()["id"] == first
        assert http.get("/subjects/a%2Fb/versions/latest").json()["references"] == [{"name": "N", "subject": "n", "version": 1}]
        assert http.get(f"/schemas/guids/{second.guid}").json()["schema"] == '"long"'
        codes = [http.get(p).json()["error_code"] for p in ("/subjects/x/versions/1", "/subjects/a%2Fb/versions/9", "/schemas/ids/99", "/other")]
        assert codes == [40401, 40402, 40403, 404]
        assert http.post("/subjects/x/versions", json={}).status_code == 422
        assert httpx.get(server.url.removesuffix("/base"), trust_env=False).text == "<html>nothing here</html>"


def test_faults_come_once_each() -> None:
    """Statuses and resets are used up in order, only on the paths that they are for."""
    with TestRegistry() as server, httpx.Client(base_url=server.url, trust_env=False) as http:
        server.fail(503, RESET, path="/schemas")
        assert http.get("/subjects").status_code == 200
        assert http.get("/schemas/ids/1").status_code == 503
        with pytest.raises(httpx.TransportError):
            http.get("/schemas/ids/1")
        assert http.get("/schemas/ids/1").status_code == 404
        assert server.calls == {"/subjects": 1, "/schemas/ids/1": 3}
