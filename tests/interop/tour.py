"""Takes a tour of the everything server through the client of either Python SDK and prints what it saw as one JSON object.

tour.py legacy|auto|REVISION URL|COMMAND [ARG...]
"""
import asyncio
import json
import sys
import warnings

from connected import IS_V1, Error, connected, plain, types

warnings.simplefilter("ignore")  # most of this is deprecated
seen: dict = {"asked": [], "logged": [], "told": []}


async def elicit(_, params):
    asked = plain(params)
    seen["asked"].append(asked)
    if asked.get("mode") == "url":
        return types.ElicitResult(action="accept")
    if seen.pop("declines", False):
        return types.ElicitResult(action="decline")
    fields = asked["requestedSchema"]["properties"]
    content = {name: field["default"] for name, field in fields.items() if "default" in field}
    return types.ElicitResult(action="accept", content={**content, **({"name": "Ada"} if "name" in fields else {})})


async def sample(_, params):
    seen["asked"].append(plain(params))
    content = types.TextContent(type="text", text="oolong, of course")
    return types.CreateMessageResult(role="assistant", model="model-1", content=content)


async def roots(_):
    return types.ListRootsResult(roots=[types.Root(uri="file:///srv/one", name="One")])


async def log(params):
    seen["logged"].append([params.level, params.logger, params.data])


async def message(item):
    seen["told"].append(type(item.root if hasattr(item, "root") else item).__name__)


async def texts(client, *calls):
    """What tools answer."""
    for name, arguments in calls:
        result = plain(await client.call_tool(name, arguments))
        text = "".join(content["text"] for content in result["content"] if content["type"] == "text")
        seen.setdefault("answers", []).append([name, result.get("isError", False), text])


async def refusal(request):
    try:
        await request
    except Error as error:
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
    session = client if IS_V1 else client.session
    await session.subscribe_resource("tea://stock")
    # Over HTTP it comes on another stream than the answer of the call, and perhaps later.
    await until(lambda: "ElicitCompleteNotification" in seen["told"])
    seen["told_before"] = list(seen["told"])
    seen["told"].clear()
    await texts(client, ("open_season", {"name": "spring"}), ("order", {"tea": "black"}))
    wanted = ["ToolListChanged", "PromptListChanged", "ResourceListChanged", "ResourceUpdated"]
    await until(lambda: all(f"{name}Notification" in seen["told"] for name in wanted))
    await session.unsubscribe_resource("tea://stock")
    return wanted


async def main(mode: str, target: list[str]) -> None:
    callbacks = {
        "elicitation_callback": elicit,
        "sampling_callback": sample,
        "list_roots_callback": roots,
        "logging_callback": log,
        "message_handler": message,
    }
    if not IS_V1:
        callbacks["log_level"] = "info"
    async with connected(mode, target, **callbacks) as (client, version, _, capabilities):
        seen["version"], seen["capabilities"] = version, capabilities
        if mode == "legacy":
            await client.set_logging_level("info")
        await what_it_has(client)
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
        seen["structured"] = plain(result)["structuredContent"]
        await texts(client, ("order", {"tea": "green", "grams": 5000}))
        await until(lambda: len(seen["logged"]) == 2)
    print(json.dumps(seen))


async def what_it_has(client) -> None:
    seen["tools"] = [tool.name for tool in (await client.list_tools()).tools]
    seen["resources"] = [str(resource.uri) for resource in (await client.list_resources()).resources]
    seen["templates"] = plain(await client.list_resource_templates())["resourceTemplates"]
    seen["prompts"] = plain(await client.list_prompts())["prompts"]
    seen["read"] = [plain(await client.read_resource(uri)) for uri in ("tea://about", "tea://logo", "tea://leaf/green")]
    seen["missing"] = await refusal(client.read_resource("tea://leaf/coffee"))
    seen["menu"] = plain(await client.call_tool("menu", {}))
    seen["pairing"] = plain(await client.get_prompt("pairing", {"tea": "black", "dish": "cake"}))["messages"]
    seen["bad_prompt"] = await refusal(client.get_prompt("pairing", {}))
    seen["invitation"] = plain(await client.get_prompt("invitation", {}))["messages"]
    pairing = types.PromptReference(type="ref/prompt", name="pairing")
    leaf = types.ResourceTemplateReference(type="ref/resource", uri="tea://leaf/{name}")
    seen["completed"] = [
        (await client.complete(pairing, {"name": "dish", "value": ""}, {"tea": "black"})).completion.values,
        (await client.complete(pairing, {"name": "dish", "value": "c"})).completion.values,
        (await client.complete(pairing, {"name": "tea", "value": "g"})).completion.values,
        (await client.complete(leaf, {"name": "name", "value": "o"})).completion.values,
    ]


asyncio.run(main(sys.argv[1], sys.argv[2:]))
