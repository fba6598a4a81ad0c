"""Takes a tour of the everything server through the client of the Python SDK 2.x and prints what it saw as one JSON object.

tour_v2.py legacy|auto|REVISION COMMAND [ARG...]
"""
import asyncio
import json
import os
import sys
import warnings

from mcp import Client, MCPError, StdioServerParameters
from mcp_types import (
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    PromptReference,
    ResourceTemplateReference,
    Root,
    TextContent,
)

warnings.simplefilter("ignore")  # most of this is deprecated
seen: dict = {"asked": [], "logged": [], "told": []}


def plain(value):
    """A result as it is on the wire."""
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def elicit(_, params):
    seen["asked"].append(plain(params))
    if params.mode == "url":
        return ElicitResult(action="accept")
    if seen.pop("declines", False):
        return ElicitResult(action="decline")
    fields = params.requested_schema["properties"]
    content = {name: field["default"] for name, field in fields.items() if "default" in field}
    return ElicitResult(action="accept", content={**content, **({"name": "Ada"} if "name" in fields else {})})


async def sample(_, params):
    seen["asked"].append(plain(params))
    content = TextContent(type="text", text="oolong, of course")
    return CreateMessageResult(role="assistant", model="model-1", content=content)


async def roots(_):
    return ListRootsResult(roots=[Root(uri="file:///srv/one", name="One")])


async def log(params):
    seen["logged"].append([params.level, params.logger, params.data])


async def message(item):
    seen["told"].append(type(item).__name__)


async def texts(client, *calls):
    """What tools answer, or the error."""
    for name, arguments in calls:
        result = await client.call_tool(name, arguments)
        text = "".join(content.text for content in result.content if content.type == "text")
        seen.setdefault("answers", []).append([name, bool(result.is_error), text])


async def refusal(request):
    try:
        await request
    except MCPError as error:
        return [error.error.code, error.error.message, error.error.data]


async def until(is_so):
    async with asyncio.timeout(20):
        while not is_so():
            await asyncio.sleep(0.01)


async def changes_modern(client):
    """What a `subscriptions/listen` tells."""
    told = []
    watch = {"tools_list_changed": True, "prompts_list_changed": True, "resources_list_changed": True}
    async with client.listen(**watch, resource_subscriptions=["tea://stock"]) as changes:
        seen["honoured"] = plain(changes.honored)
        await texts(client, ("open_season", {"name": "spring"}), ("order", {"tea": "black"}))
        async with asyncio.timeout(20):
            async for event in changes:
                told.append(type(event).__name__)
                if len(told) == 4:
                    break
    return sorted(told)


async def changes_legacy(client):
    """What is told without further ado, and after `resources/subscribe`."""
    await client.session.subscribe_resource("tea://stock")
    seen["told_before"] = list(seen["told"])
    seen["told"].clear()
    await texts(client, ("open_season", {"name": "spring"}), ("order", {"tea": "black"}))
    wanted = ["ToolListChanged", "PromptListChanged", "ResourceListChanged", "ResourceUpdated"]
    await until(lambda: all(f"{name}Notification" in seen["told"] for name in wanted))
    await client.session.unsubscribe_resource("tea://stock")
    return wanted


async def main(mode: str, command: str, args: list[str]) -> None:
    server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    client = Client(
        server,
        mode=mode,
        read_timeout_seconds=30,
        elicitation_callback=elicit,
        sampling_callback=sample,
        list_roots_callback=roots,
        logging_callback=log,
        log_level="info",
        message_handler=message,
    )
    async with client:
        seen["version"] = client.protocol_version
        if mode == "legacy":
            await client.set_logging_level("info")
        if client.server_capabilities:
            seen["capabilities"] = plain(client.server_capabilities)
        seen["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        seen["resources"] = [resource.uri for resource in (await client.list_resources()).resources]
        seen["templates"] = [plain(template) for template in (await client.list_resource_templates()).resource_templates]
        seen["prompts"] = [plain(prompt) for prompt in (await client.list_prompts()).prompts]

        seen["read"] = [plain(await client.read_resource(uri)) for uri in ("tea://about", "tea://logo", "tea://leaf/green")]
        seen["missing"] = await refusal(client.read_resource("tea://leaf/coffee"))
        seen["menu"] = plain(await client.call_tool("menu", {}))
        seen["pairing"] = plain(await client.get_prompt("pairing", {"tea": "black", "dish": "cake"}))["messages"]
        seen["bad_prompt"] = await refusal(client.get_prompt("pairing", {}))
        seen["invitation"] = plain(await client.get_prompt("invitation", {}))["messages"]
        pairing = PromptReference(type="ref/prompt", name="pairing")
        leaf = ResourceTemplateReference(type="ref/resource", uri="tea://leaf/{name}")
        seen["completed"] = [
            (await client.complete(pairing, {"name": "dish", "value": ""}, {"tea": "black"})).completion.values,
            (await client.complete(pairing, {"name": "dish", "value": "c"})).completion.values,
            (await client.complete(pairing, {"name": "tea", "value": "g"})).completion.values,
            (await client.complete(leaf, {"name": "name", "value": "o"})).completion.values,
        ]

        await texts(client, ("choose", {}), ("pay", {}), ("advise", {"mood": "tired"}), ("locate", {}), ("cater", {}))
        seen["declines"] = True
        await texts(client, ("choose", {}))

        progress = []

        async def on_progress(*report):
            progress.append(report)

        await client.call_tool("brew", {"steps": 4}, progress_callback=on_progress)
        seen["progress"] = progress
        seen["changes"] = await (changes_legacy if mode == "legacy" else changes_modern)(client)
        seen["tools_then"] = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("order", {"tea": "green", "grams": 5, "gift": True})
        seen["structured"] = result.structured_content
        await texts(client, ("order", {"tea": "green", "grams": 5000}))
        await until(lambda: seen["logged"])
    print(json.dumps(seen))


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
