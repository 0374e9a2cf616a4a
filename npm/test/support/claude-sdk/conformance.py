"""Runs the official suite for session stores of the Claude Agent SDK against our store, through a Node process that holds it.

Arguments: node, the process's script and its arguments. Prints one JSON line for each contract: its number, its title and whether it
held. The suite has its contracts in one function, with a comment "# N. title" above each, and asks for a new store at the
beginning of each; so the line from which it asks tells which one begins.
"""

import asyncio
import inspect
import json
import re
import sys
import traceback

from claude_agent_sdk import SessionStore
from claude_agent_sdk.testing import run_session_store_conformance

SOURCE, FIRST = inspect.getsourcelines(run_session_store_conformance)
TITLES = {
    FIRST + index: (int(found[1]), found[2])
    for index, line in enumerate(SOURCE)
    if (found := re.match(r"\s*# (\d+)\. (.+)", line))
}


def camel(key):
    names = {"project_key": "projectKey", "session_id": "sessionId", "subpath": "subpath"}
    return {names[name]: value for name, value in key.items()}


def snake(entry):
    return {"session_id" if name == "sessionId" else name: value for name, value in entry.items()}


class Bridge:
    def __init__(self, process):
        self.process = process
        self.turn = asyncio.Lock()

    async def ask(self, method, store=None, *args):
        async with self.turn:
            request = {"method": method, "store": store, "args": args}
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            await self.process.stdin.drain()
            line = await self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the process has ended"}
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["value"]


class Store(SessionStore):
    def __init__(self, bridge, number):
        self.bridge, self.number = bridge, number

    async def append(self, key, entries):
        await self.bridge.ask("append", self.number, camel(key), entries)

    async def load(self, key):
        return await self.bridge.ask("load", self.number, camel(key))

    async def list_sessions(self, project_key):
        return [snake(it) for it in await self.bridge.ask("listSessions", self.number, project_key)]

    async def list_session_summaries(self, project_key):
        return [snake(it) for it in await self.bridge.ask("listSessionSummaries", self.number, project_key)]

    async def delete(self, key):
        await self.bridge.ask("delete", self.number, camel(key))

    async def list_subkeys(self, key):
        return await self.bridge.ask("listSubkeys", self.number, camel(key))


def contract():
    """The contract whose code asks: the last title above the line where the suite is."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code is not run_session_store_conformance.__code__:
        frame = frame.f_back
    if frame is None:
        return None
    above = [line for line in TITLES if line <= frame.f_lineno]
    return TITLES[max(above)] if above else None


async def main():
    process = await asyncio.create_subprocess_exec(
        *sys.argv[1:], stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 26
    )
    bridge = Bridge(process)
    running = None

    def tell(**more):
        if running is not None:
            print(json.dumps({"contract": running[0], "title": running[1], **more}), flush=True)

    # Not a coroutine itself: the suite must still be on the stack when it is called.
    def make_store():
        nonlocal running
        tell(held=True)
        running = contract()
        return make()

    async def make():
        return Store(bridge, await bridge.ask("open"))

    try:
        await run_session_store_conformance(make_store)
        tell(held=True)
    except Exception:
        tell(held=False, why=traceback.format_exc())
    process.stdin.close()
    await process.wait()
    print(json.dumps({"ended": process.returncode}), flush=True)


asyncio.run(main())
