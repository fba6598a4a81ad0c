"""A server on the Python SDK 2.x, which speaks both eras."""
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

from serve import run

server = MCPServer("echo")


class Total(BaseModel):
    total: int


@server.tool()
def echo(message: str) -> str:
    """Echo a message."""
    return message


@server.tool()
async def count(to: int, ctx: Context) -> Total:
    """Count up and report each step."""
    for step in range(1, to + 1):
        await ctx.report_progress(step, to, f"step {step}")
    return Total(total=to)


@server.tool()
def fail(why: str) -> str:
    """Fail."""
    raise ValueError(why)


run(server)
