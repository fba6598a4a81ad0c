"""A client on either Python SDK, on a server that is reached over stdio (COMMAND [ARG...]), Streamable HTTP (URL) or HTTP+SSE (URL/sse)."""
import os
from contextlib import asynccontextmanager

try:
    import mcp_types as types
    from mcp import Client, StdioServerParameters
    from mcp import MCPError as Error
    from mcp.client.sse import sse_client

    IS_V1 = False
except ImportError:
    from mcp import ClientSession, StdioServerParameters, types
    from mcp import McpError as Error
    from mcp.client.sse import sse_client
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    IS_V1 = True

__all__ = ["IS_V1", "Error", "connected", "plain", "types"]


def plain(value):
    """A value of the SDK as it is on the wire."""
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


@asynccontextmanager
async def connected(mode: str, target: list[str], **callbacks):
    """A client, and what is known of the server: its revision, name and capabilities. `mode` is legacy, auto, or a revision."""
    place, *args = target
    is_url, is_sse = place.startswith("http://"), place.endswith("/sse")
    server = StdioServerParameters(command=place, args=args, env=dict(os.environ))
    if not IS_V1:
        server = sse_client(place) if is_sse else place if is_url else server
        async with Client(server, mode=mode, read_timeout_seconds=30, **callbacks) as client:
            info, capabilities = client.server_info, client.server_capabilities
            yield client, client.protocol_version, info and info.name, capabilities and plain(capabilities)
        return
    opened = sse_client(place) if is_sse else streamable_http_client(place) if is_url else stdio_client(server)
    async with opened as streams, ClientSession(*streams[:2], **callbacks) as client:
        started = await client.initialize()
        yield client, started.protocolVersion, started.serverInfo.name, plain(started.capabilities)
