"""A model server for tests in its own process: plays the doors by rule, samples with a real policy, and misbehaves.

``POST /script`` takes a list of acts for the next requests, one each; without one a request is answered properly.
``GET /seen`` returns the received requests. An act is a table: `status`, `headers`, `body` (text) for any answer;
`sleep_s` before it; `hold` to answer only after ``POST /release`` or the next script; `cut` for a body that ends early;
`size` for one that long; `die` to end the process in the middle of a reply; `change` for fields of the proper answer.

python model_server.py PORT    # the model of /v1/completions is named by its folder
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

ACTS: deque[dict[str, Any]] = deque()
SEEN: list[dict[str, Any]] = []
AT_ONCE = {"now": 0, "most": 0}
HELD = {"until": asyncio.Event()}
_HOLD_S = 60.0  # a client that waits for an answer it must not wait for gets it then, and its test fails
POLICIES: dict[str, Any] = {}  # by folder


async def script(request: Request) -> Response:
    HELD["until"].set()
    HELD["until"] = asyncio.Event()
    ACTS.clear()
    SEEN.clear()
    AT_ONCE["most"] = 0
    ACTS.extend(await request.json())
    return JSONResponse({})


async def release(request: Request) -> Response:
    HELD["until"].set()
    return JSONResponse({})


async def seen(request: Request) -> Response:
    return JSONResponse({"requests": SEEN, "most": AT_ONCE["most"], "left": len(ACTS)})


async def answer(request: Request) -> Response:
    AT_ONCE["now"] += 1
    AT_ONCE["most"] = max(AT_ONCE["most"], AT_ONCE["now"])
    try:
        body = json.loads(await request.body())
        headers, now = dict(request.headers), time.monotonic()
        SEEN.append({"path": request.url.path, "headers": headers, "body": body, "time": now})
        act = ACTS.popleft() if ACTS else {}
        if act.get("hold"):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(HELD["until"].wait(), _HOLD_S)
        await asyncio.sleep(act.get("sleep_s", 0.0))
        return misbehaving(act, chat(body) if request.url.path.endswith("chat/completions") else complete(body))
    finally:
        AT_ONCE["now"] -= 1


def misbehaving(act: dict[str, Any], proper: dict[str, Any]) -> Response:
    if act.get("die"):
        return StreamingResponse(dying(), headers={"content-length": "1000"})
    if "cut" in act:
        return StreamingResponse(cut(json.dumps(proper)), headers={"content-length": str(len(json.dumps(proper)))})
    if "size" in act:
        return StreamingResponse(long(act["size"]))
    if "body" in act:
        return Response(act["body"], act.get("status", 200), act.get("headers"), "application/json")
    if "change" in act:
        proper["choices"][0] |= act["change"]
    return JSONResponse(proper | act.get("top", {}), act.get("status", 200), act.get("headers"))


async def dying() -> AsyncIterator[bytes]:
    yield b'{"choices"'
    await asyncio.sleep(0.05)
    os._exit(1)


async def cut(text: str) -> AsyncIterator[bytes]:
    yield text[: len(text) // 2].encode()


async def long(size: int) -> AsyncIterator[bytes]:
    for _ in range(size // 2**16 + 1):
        yield b" " * 2**16


def chat(body: dict[str, Any]) -> dict[str, Any]:
    """Play the doors according to the conversation."""
    texts = [said(message["content"] or "") for message in body["messages"]]
    goal = "\n".join(texts).split("A note says: ")[-1].split(".")[0]
    latest = "\n".join(texts[-2:])  # a picture may follow a tool message
    action = f"open {goal}" if "You have the key." in latest else "take key"
    message: dict[str, Any] = {"role": "assistant", "content": action}
    if "tools" in body:
        call = {"name": "act", "arguments": json.dumps({"action": action})}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{len(texts)}", "type": "function", "function": call}],
        }
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 40}}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}


def said(content: str | list[dict[str, Any]]) -> str:
    """Return a message's text; parts of other types are ignored."""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def complete(body: dict[str, Any]) -> dict[str, Any]:
    """Sample with the policy, token by token."""
    import torch

    ids, logprobs, out = list(body["prompt"]), list[float](), None
    generator = torch.Generator().manual_seed(body["seed"])
    while len(logprobs) < body["max_tokens"] and not (logprobs and ids[-1] in body["stop_token_ids"]):
        new = ids if out is None else ids[-1:]
        with torch.no_grad():
            out = model(body["model"])(
                torch.tensor([new]), past_key_values=out and out.past_key_values, use_cache=True, logits_to_keep=1
            )
        logits = out.logits[0, -1]
        logprobs_V = torch.log_softmax(logits / (body["temperature"] or 1.0), -1)
        token = int(torch.multinomial(logprobs_V.exp(), 1, generator=generator))
        token = token if body["temperature"] else int(logits.argmax())
        ids.append(token)
        logprobs.append(float(logprobs_V[token]))
    new = ids[len(body["prompt"]) :]
    found = {"tokens": [f"token_id:{i}" for i in new], "token_logprobs": logprobs}
    choice = {"text": "", "token_ids": new, "prompt_token_ids": body["prompt"], "logprobs": found}
    usage = {"prompt_tokens": len(body["prompt"]), "completion_tokens": len(new)}
    return {"choices": [{"index": 0, "finish_reason": "stop", **choice}], "usage": usage}


def model(folder: str) -> Any:  # Any: transformers picks the class
    if folder not in POLICIES:
        from transformers import AutoModelForCausalLM

        build: Any = AutoModelForCausalLM  # Any: transformers has no types
        POLICIES[folder] = build.from_pretrained(folder, attn_implementation="sdpa").eval()
    return POLICIES[folder]


APP = Starlette(
    routes=[
        Route("/script", script, methods=["POST"]),
        Route("/release", release, methods=["POST"]),
        Route("/seen", seen),
        Route("/v1/chat/completions", answer, methods=["POST"]),
        Route("/v1/completions", answer, methods=["POST"]),
    ]
)

if __name__ == "__main__":
    uvicorn.run(APP, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
