// A client on either major version of the TypeScript SDK, on a server that is reached over stdio (COMMAND [ARG...]), Streamable
// HTTP (URL) or HTTP+SSE (URL/sse). The same for both: `on` for handlers, `call`, `close`, and the negotiated `version`.
export const connect = async (sdk, mode, target, { capabilities = {}, handlers = {} } = {}) => {
  const isV1 = sdk === "1";
  const from = (name, v1) => import(isV1 ? `@modelcontextprotocol/sdk/${v1}` : `@modelcontextprotocol/client${name}`);
  const { Client } = await from("", "client/index.js");
  const [place, ...args] = target;
  const transport = await (async () => {
    if (!place.startsWith("http://")) {
      const { StdioClientTransport } = await from("/stdio", "client/stdio.js");
      return new StdioClientTransport({ command: place, args, env: process.env });
    }
    if (place.endsWith("/sse")) {
      const { SSEClientTransport } = await from("", "client/sse.js");
      return new SSEClientTransport(new URL(place));
    }
    const { StreamableHTTPClientTransport } = await from("", "client/streamableHttp.js");
    return new StreamableHTTPClientTransport(new URL(place));
  })();

  const versionNegotiation = { mode: ["legacy", "auto"].includes(mode) ? mode : { pin: mode } };
  const client = new Client({ name: "interop", version: "1.0.0" }, { capabilities, ...(isV1 ? {} : { versionNegotiation }) });
  // The older one takes the schema of a message in place of its method.
  const schemas = isV1 ? Object.values(await import("@modelcontextprotocol/sdk/types.js")) : [];
  const named = (method) => (isV1 ? schemas.find((schema) => schema?.shape?.method?.value === method) : method);
  for (const [method, handler] of Object.entries(handlers)) {
    const set = method.startsWith("notifications/") ? "setNotificationHandler" : "setRequestHandler";
    client[set](named(method), ({ params }) => handler(params));
  }

  // The older one keeps what was negotiated to itself.
  let negotiated;
  const { setProtocolVersion } = transport;
  transport.setProtocolVersion = (version) => {
    negotiated = version;
    setProtocolVersion?.call(transport, version);
  };
  await client.connect(transport);
  const call = (params, options) => (isV1 ? client.callTool(params, undefined, options) : client.callTool(params, options));
  const close = async () => {
    if (transport.sessionId !== undefined) await transport.terminateSession?.();
    await client.close();
  };
  const version = client.getNegotiatedProtocolVersion?.() ?? negotiated;
  return { client, call, close, version, isModern: version === "2026-07-28" };
};

export const refusal = (request) => request.then(() => null, (error) => [error.code, error.message.replace(/^MCP error -?\d+: /, ""), error.data ?? null]);

export const until = async (isSo, told) => {
  const end = Date.now() + 20_000;
  while (!isSo()) {
    if (Date.now() > end) throw new Error(`too late: ${JSON.stringify(told)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};
