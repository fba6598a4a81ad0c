"""A notes server on the Python SDK 1.x. Notes are files in ~/.notes."""
import os
import re

from mcp.server.fastmcp import FastMCP

from serve import run

FOLDER = os.path.join(os.path.expanduser("~"), ".notes")
os.makedirs(FOLDER, exist_ok=True)
server = FastMCP("notes")


@server.tool()
def create_note(title: str, content: str, tags: list[str] | None = None) -> str:
    """Create a note. Returns the path where it was saved."""
    path = os.path.join(FOLDER, re.sub(r"[^\w -]", "_", title) + ".md")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{title}\n{', '.join(tags or [])}\n\n{content}")
    return f"saved to {path}"


@server.tool()
def search_notes(query: str) -> str:
    """Find the notes that contain a text. Returns a title a line."""
    found = []
    for name in sorted(os.listdir(FOLDER)):
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            if query.lower() in file.read().lower():
                found.append(name.removesuffix(".md"))
    return "\n".join(found) or "nothing found"


run(server)
