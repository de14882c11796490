import json
from pathlib import Path

from fsdpwiz.facts.to_json import to_json
from fsdpwiz.facts.types import Data, DataFault, Facts, Gpu, Gpus


def test_every_value_is_plain():
    facts = Facts(
        gpus=Gpus(
            source="measured", cards=(Gpu(index=0, name="x", memory_bytes=1, compute_capability=(8, 0)),)
        ),
        data=Data(
            source="measured",
            where="file",
            files=(Path("/a.jsonl"),),
            columns=frozenset({"b", "a"}),
            faults=(DataFault(file=Path("/a.jsonl"), line=3, message="m"),),
        ),
        absent={"disk": "why"},
    )
    document = json.loads(json.dumps(to_json(facts)))
    assert document["gpus"]["cards"][0]["compute_capability"] == [8, 0]
    assert document["data"]["columns"] == ["a", "b"]
    assert document["data"]["faults"] == [{"file": "/a.jsonl", "line": 3, "message": "m"}]
    assert document["absent"] == {"disk": "why"}
    assert document["model"] is None
