"""Runs a server of either SDK over stdio or, as the first argument says, over Streamable HTTP (`http`) or HTTP+SSE (`sse`)."""
import socket
import sys


def run(server) -> None:
    if len(sys.argv) == 1:
        return server.run()
    import uvicorn

    way = sys.argv[1]
    app = server.sse_app() if way == "sse" else server.streamable_http_app()
    # Listens before anybody is told of it.
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/{'sse' if way == 'sse' else 'mcp'}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])
