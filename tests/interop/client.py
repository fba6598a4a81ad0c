"""Uses the tools of a server through the client of either Python SDK and prints what it saw as one JSON object.

client.py legacy|auto|REVISION URL|COMMAND [ARG...]
"""
import asyncio
import json
import sys

from connected import IS_V1, Error, connected, plain, types


def answer(result) -> list:
    result = plain(result)
    return [result.get("isError", False), "".join(content["text"] for content in result["content"])]


async def give_up(client, started: asyncio.Event) -> None:
    """Calls a tool that waits, and cancels that once it has begun."""

    async def on_start(*_) -> None:
        started.set()

    request = getattr(client, "_request_id", None)
    waiting = asyncio.create_task(client.call_tool("wait", {}, progress_callback=on_start))
    await asyncio.wait_for(started.wait(), 20)
    if IS_V1:
        # It tells nobody by itself.
        params = types.CancelledNotificationParams(requestId=request, reason="enough")
        notification = types.CancelledNotification(method="notifications/cancelled", params=params)
        await client.send_notification(types.ClientNotification(notification))
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def main(mode: str, target: list[str]) -> None:
    seen: dict = {"progress": []}
    async with connected(mode, target) as (client, version, name, _):
        seen["version"] = version
        seen["server"] = name
        seen["tools"] = [tool.name for tool in (await client.list_tools()).tools]

        seen["echo"] = answer(await client.call_tool("echo", {"message": "grüße ☕"}))
        seen["bad_arguments"] = answer(await client.call_tool("echo", {}))
        many = await asyncio.gather(*(client.call_tool("echo", {"message": str(i)}) for i in range(200)))
        seen["many"] = all(answer(result) == [False, str(i)] for i, result in enumerate(many))
        try:
            await client.call_tool("no such tool", {})
        except Error as error:
            seen["unknown_tool"] = [error.error.code, error.error.message]

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            seen["progress"].append([progress, total, message])

        if "count" in seen["tools"]:
            result = await client.call_tool("count", {"to": 5}, progress_callback=on_progress)
            seen["structured"] = plain(result)["structuredContent"]
        if "fail" in seen["tools"]:
            seen["fail"] = answer(await client.call_tool("fail", {"why": "on purpose"}))
        if "wait" in seen["tools"]:
            await give_up(client, asyncio.Event())
            # The server says in its next answer whether it was told.
            seen["waited"] = answer(await client.call_tool("waited", {}))[1]
    print(json.dumps(seen))


asyncio.run(main(sys.argv[1], sys.argv[2:]))
