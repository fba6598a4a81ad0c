"""Steps many environments together with the official SDK: a child each, and all of them in one `asyncio.gather` a round.

steps.py MEMBERS ROUNDS SERVER

Prints `ready` once all have started and made a first round, waits for a line, makes the rounds, prints what they took and brought
as a JSON object, and ends at the end of its input. The steps are those of `main.rs` beside this file.
"""
import asyncio
import json
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from connected import connected  # noqa: E402


def action(member: int, step: int) -> tuple[str, dict]:
    match step % 4:
        case 0:
            return "read_file", {"path": "numbers.txt"}
        case 1:
            return "replace_line", {"line": 1 + step // 4 % 3, "text": f"{member} {step}"}
        case 2:
            return "read_file", {"path": "report.txt"}
        case _:
            return "run_tests", {}


async def step(client, member: int, number: int) -> tuple[int, float]:
    """How long the text is that was seen, and the reward."""
    tool, arguments = action(member, number)
    result = await client.call_tool(tool, arguments)
    structured = getattr(result, "structured_content", None) or getattr(result, "structuredContent", None) or {}
    text = "".join(content.text for content in result.content if content.type == "text")
    assert arguments.get("text", "") in text, (member, number, text)
    return len(text), float(structured.get("reward", 0.0))


async def main(members: int, rounds: int, server: str) -> None:
    async with AsyncExitStack() as stack:
        clients = []
        for _ in range(members):
            client, *_ = await stack.enter_async_context(connected("auto", [server]))
            clients.append(client)
        for seed, client in enumerate(clients):
            await client.call_tool("reset_environment", {"seed": seed})
        await asyncio.gather(*(step(client, member, 0) for member, client in enumerate(clients)))
        print("ready", flush=True)
        sys.stdin.readline()
        seen, reward = 0, 0.0
        begun = time.perf_counter()
        for number in range(rounds):
            steps = (step(client, member, number) for member, client in enumerate(clients))
            for length, rewarded in await asyncio.gather(*steps):
                seen += length
                reward += rewarded
        took = time.perf_counter() - begun
        print(json.dumps({"seconds": took, "seen": seen, "reward": reward}), flush=True)
        sys.stdin.read()


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
