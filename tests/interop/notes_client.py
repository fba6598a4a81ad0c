"""Uses a server through the client of the Python SDK 1.x and prints what it saw as one JSON object.

client_v1.py CALLS COMMAND [ARG...]     CALLS is a JSON list of [tool, arguments]; then the resources of a notes server are read
"""
import asyncio
import json
import os
import sys

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import ResourceTemplateReference


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
        seen = {}
        if started.capabilities.resources:
            for resource in (await client.list_resources()).resources:
                contents = (await client.read_resource(resource.uri)).contents
                seen.setdefault("read", {})[str(resource.uri)] = "".join(content.text for content in contents)
            templates = (await client.list_resource_templates()).resourceTemplates
            seen["templates"] = [template.uriTemplate for template in templates]
            reference = ResourceTemplateReference(type="ref/resource", uri="notes://{title}")
            completed = await client.complete(reference, {"name": "title", "value": "p"})
            seen["completed"] = completed.completion.values
        await client.send_ping()
    print(json.dumps({
        **seen,
        "version": started.protocolVersion,
        "server": started.serverInfo.name,
        "tools": [tool.name for tool in tools],
        "answers": answers,
    }))


asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2], sys.argv[3:]))
