// Serves what `build` makes, with the TypeScript SDK 1.x: over stdio or, as the first argument says, over Streamable HTTP (`http`)
// or HTTP+SSE (`sse`) with a server for each session.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const sessions = new Map();

const streamable = async (request, response) => {
  let transport = sessions.get(request.headers["mcp-session-id"]);
  if (!transport) {
    const onsessioninitialized = (id) => sessions.set(id, transport);
    transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized });
    await build().connect(transport);
  }
  await transport.handleRequest(request, response);
};

const sse = async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://localhost");
  if (request.method === "GET" && pathname === "/sse") {
    const transport = new SSEServerTransport("/messages", response);
    sessions.set(transport.sessionId, transport);
    return build().connect(transport);
  }
  const transport = pathname === "/messages" && sessions.get(searchParams.get("sessionId"));
  return transport ? transport.handlePostMessage(request, response) : response.writeHead(404).end();
};

let build;
export const serve = async (made) => {
  build = made;
  const [listener, path] = { http: [streamable, "/mcp"], sse: [sse, "/sse"] }[process.argv[2]] ?? [];
  if (!listener) return build().connect(new StdioServerTransport());
  const http = createServer(listener);
  http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}${path}`));
};
