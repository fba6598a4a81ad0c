"""Uses a server through the client of the Python SDK 2.x and prints what it saw as one JSON object.

client_v2.py legacy|auto|REVISION COMMAND [ARG...]
"""
import asyncio
import json
import os
import sys

from mcp import Client, MCPError, StdioServerParameters


async def main(mode: str, command: str, args: list[str]) -> None:
    server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    seen: dict = {"progress": []}
    async with Client(server, mode=mode, read_timeout_seconds=30) as client:
        seen["version"] = client.protocol_version
        seen["server"] = client.server_info.name if client.server_info else None
        tools = (await client.list_tools()).tools
        seen["tools"] = {tool.name: tool.input_schema for tool in tools}

        result = await client.call_tool("echo", {"message": "grüße ☕"})
        seen["echo"] = [content.text for content in result.content]
        result = await client.call_tool("echo", {})
        seen["bad_arguments"] = [result.is_error, result.content[0].text]
        many = await asyncio.gather(*(client.call_tool("echo", {"message": str(i)}) for i in range(200)))
        seen["many"] = all(result.content[0].text == str(i) for i, result in enumerate(many))
        try:
            await client.call_tool("no such tool", {})
        except MCPError as error:
            seen["unknown_tool"] = [error.error.code, error.error.message]

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            seen["progress"].append([progress, total, message])

        if "count" in seen["tools"]:
            result = await client.call_tool("count", {"to": 5}, progress_callback=on_progress)
            # Nothing is awaited in between: what has arrived had arrived before the answer.
            seen["progress_with_answer"] = len(seen["progress"])
            seen["structured"] = result.structured_content
        if "fail" in seen["tools"]:
            result = await client.call_tool("fail", {"why": "on purpose"})
            seen["fail"] = [result.is_error, result.content[0].text]
        if "wait" in seen["tools"]:
            started = asyncio.Event()

            async def on_start(*_) -> None:
                started.set()

            waiting = asyncio.create_task(client.call_tool("wait", {}, progress_callback=on_start))
            await asyncio.wait_for(started.wait(), 20)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            # The server says in its next answer whether it was told.
            result = await client.call_tool("waited", {})
            seen["waited"] = result.content[0].text
    print(json.dumps(seen))


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
