"""Uses a server through the client of the Python SDK 1.x and prints what it saw as one JSON object.

client_v1.py CALLS COMMAND [ARG...]     CALLS is a JSON list of [tool, arguments]
"""
import asyncio
import json
import os
import sys

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(calls: list, command: str, args: list[str]) -> None:
    server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as client:
        started = await client.initialize()
        tools = (await client.list_tools()).tools
        answers = []
        for name, arguments in calls:
            try:
                result = await client.call_tool(name, arguments)
                answers.append([result.isError, "".join(content.text for content in result.content)])
            except McpError as error:
                answers.append([error.error.code, error.error.message])
        await client.send_ping()
    print(json.dumps({
        "version": started.protocolVersion,
        "server": started.serverInfo.name,
        "tools": [tool.name for tool in tools],
        "answers": answers,
    }))


asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2], sys.argv[3:]))
