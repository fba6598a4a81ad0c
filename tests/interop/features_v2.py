"""A server on the Python SDK 2.x with everything beside plain tools. It speaks both eras."""
import os
import warnings
from functools import partial
from typing import Annotated

import anyio
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.elicitation import ElicitationResult
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp_types import (
    Completion,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    EmptyResult,
    InputRequiredResult,
    ListRootsResult,
    PromptReference,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel, Field

from serve import run

warnings.simplefilter("ignore")  # most of this is deprecated
HINTS = {method: CacheHint(ttl_ms=60_000) for method in ("tools/list", "prompts/list", "resources/list", "resources/read")}
server = MCPServer("features", version="1.0.0", instructions="Try everything.", cache_hints=HINTS, log_level="WARNING")
watched: set[str] = set()
least = "debug"


class Who(BaseModel):
    name: str = Field(min_length=2)
    age: int = 30


class Sure(BaseModel):
    sure: bool


def who() -> Elicit[Who]:
    return Elicit("Who are you?", Who)


def story() -> Sample:
    message = SamplingMessage(role="user", content=TextContent(type="text", text="Tell a story"))
    return Sample([message], max_tokens=50, system_prompt="Be short.")


def folders() -> ListRoots:
    return ListRoots()


def sure(person: Annotated[Who, Resolve(who)]) -> Elicit[Sure]:
    return Elicit(f"Really, {person.name}?", Sure)


@server.tool()
def interview(
    topic: str,
    person: Annotated[Who, Resolve(who)],
    told: Annotated[CreateMessageResult, Resolve(story)],
    roots: Annotated[ListRootsResult, Resolve(folders)],
    certain: Annotated[Sure, Resolve(sure)],
) -> str:
    """Ask for everything: in two rounds, as one question depends on the answer to another."""
    names = ",".join(str(root.uri) for root in roots.roots)
    return f"{topic}: {person.name} {person.age} {told.content.text} {names} {str(certain.sure).lower()}"


@server.tool()
def optional(outcome: Annotated[ElicitationResult[Who], Resolve(who)]) -> str:
    """Ask for something that need not be given."""
    return outcome.action


@server.tool()
async def visit(ctx: Context) -> str | InputRequiredResult:
    """Send the user to a URL."""
    if ctx.protocol_version != "2026-07-28":
        answer = await ctx.elicit_url("Log in", "https://example.com/login", "login-1")
        await ctx.session.send_elicit_complete("login-1", related_request_id=ctx.request_id)
        return f"{answer.action} half way"
    if ctx.input_responses:
        return f"{ctx.input_responses['login'].action} {ctx.request_state}"
    params = ElicitRequestURLParams(message="Log in", url="https://example.com/login")
    return InputRequiredResult(input_requests={"login": ElicitRequest(params=params)}, request_state="half way")


@server.tool()
async def talk(ctx: Context) -> str:
    """Log one message of each of three levels."""
    order = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
    for level in ("debug", "warning", "error"):
        if ctx.protocol_version == "2026-07-28" or order.index(level) >= order.index(least):
            await ctx.log(level, {"said": level}, logger_name="talk")
    return "said"


@server.tool()
async def grow(ctx: Context) -> str:
    """Offer more, and say so."""

    def extra() -> str:
        return "extra"

    server.add_tool(extra, name="extra")
    server.resource("notes:///extra", name="extra")(extra)
    server.prompt("extra")(extra)
    await ctx.session.send_tool_list_changed()
    await ctx.session.send_prompt_list_changed()
    await ctx.session.send_resource_list_changed()
    await ctx.notify_tools_changed()
    await ctx.notify_prompts_changed()
    await ctx.notify_resources_changed()
    return "grown"


@server.tool()
async def touch(uri: str, ctx: Context) -> str:
    """Say that a resource changed."""
    if uri in watched:
        await ctx.session.send_resource_updated(uri)
    await ctx.notify_resource_updated(uri)
    return "touched"


@server.tool()
async def wait() -> str:
    """Wait until it is cancelled, and leave a file that says so."""
    try:
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        with open(os.path.expanduser("~/cancelled"), "w", encoding="utf-8") as file:
            file.write("cancelled")
        raise
    return "nobody cancelled"


@server.resource("notes:///readme", name="readme", title="Read me", mime_type="text/markdown", meta={"kept": 1})
def readme() -> str:
    return "read me"


@server.resource("notes:///bytes", name="bytes", mime_type="application/octet-stream")
def data() -> bytes:
    return bytes(range(256))


@server.resource("notes:///{name}", name="note")
def note(name: str, ctx: Context) -> str | InputRequiredResult:
    if name != "guarded":
        return f"about {name}"
    if ctx.input_responses:
        return f"the word is {ctx.input_responses['word'].content['word']}"
    schema = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
    params = ElicitRequestFormParams(message="The word?", requested_schema=schema)
    return InputRequiredResult(input_requests={"word": ElicitRequest(params=params)})


@server.prompt(title="Explain")
def explain(topic: str, depth: str = "short") -> str:
    """Explain something."""
    return f"Explain {topic}, {depth}"


@server.prompt()
def guided(ctx: Context) -> str | InputRequiredResult:
    """Ask for the topic."""
    if ctx.input_responses:
        return f"Explain {ctx.input_responses['topic'].content['topic']}"
    schema = {"type": "object", "properties": {"topic": {"type": "string"}}, "required": ["topic"]}
    params = ElicitRequestFormParams(message="The topic?", requested_schema=schema)
    return InputRequiredResult(input_requests={"topic": ElicitRequest(params=params)})


@server.completion()
async def complete(ref, argument, context) -> Completion:
    known = (context.arguments or {}) if context else {}
    if isinstance(ref, PromptReference):
        values = [known["topic"]] if "topic" in known else ["tides", "time", "moon"]
    else:
        values = ["readme", "rivers"]
    found = [value for value in values if value.startswith(argument.value)]
    return Completion(values=found, total=len(found), has_more=False)


async def subscribe(_, params: SubscribeRequestParams) -> EmptyResult:
    watched.add(str(params.uri))
    return EmptyResult()


async def unsubscribe(_, params: UnsubscribeRequestParams) -> EmptyResult:
    watched.discard(str(params.uri))
    return EmptyResult()


async def set_level(_, params: SetLevelRequestParams) -> EmptyResult:
    global least
    least = params.level
    return EmptyResult()


# The Legacy requests for which the decorators have nothing.
lowlevel = server._lowlevel_server
lowlevel.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
lowlevel.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)
lowlevel.add_request_handler("logging/setLevel", SetLevelRequestParams, set_level)
lowlevel.create_initialization_options = partial(lowlevel.create_initialization_options, NotificationOptions(True, True, True))
run(server)
