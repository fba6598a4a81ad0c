// Serves what `build` makes, with the TypeScript SDK 2.x: over stdio or, as the first argument says, over Streamable HTTP: Legacy
// with a server for each session (`http`) or for each request (`stateless`), Modern always with one for each request. Gives what
// tells Modern clients of HTTP of changes.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { WebStandardStreamableHTTPServerTransport, createMcpHandler, isLegacyRequest } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

// What was said on all streams, for clients that come back.
class Events {
  #said = [];

  async storeEvent(stream, message) {
    return String(this.#said.push({ stream, message }));
  }

  async replayEventsAfter(last, { send }) {
    const { stream } = this.#said[last - 1];
    for (const [i, event] of this.#said.entries()) {
      if (i >= last && event.stream === stream) await send(String(i + 1), event.message);
    }
    return stream;
  }
}

export const serve = (build) => {
  const way = process.argv[2];
  if (!way) {
    serveStdio(build);
    return undefined;
  }
  const sessions = new Map();
  const legacy = async (request) => {
    let transport = sessions.get(request.headers.get("mcp-session-id"));
    if (!transport) {
      const onsessioninitialized = (id) => sessions.set(id, transport);
      const eventStore = new Events();
      const options = { sessionIdGenerator: randomUUID, onsessioninitialized, eventStore, retryInterval: 100 };
      transport = new WebStandardStreamableHTTPServerTransport(options);
      await build().connect(transport);
    }
    return transport.handleRequest(request);
  };
  const modern = createMcpHandler(build, { legacy: way === "http" ? "reject" : "stateless" });
  const fetch = async (request) => (way === "http" && (await isLegacyRequest(request)) ? legacy(request) : modern.fetch(request));
  const http = createServer(getRequestListener(fetch));
  http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
  return modern.notify;
};
