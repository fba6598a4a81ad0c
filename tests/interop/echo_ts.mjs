// A server on the TypeScript SDK 1.x.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";
import { serve } from "./serve_v1.mjs";

const build = () => {
  const server = new McpServer({ name: "echo", version: "1.0.0" });

  server.registerTool("echo", { description: "Echo a message", inputSchema: { message: z.string() } }, ({ message }) => ({
    content: [{ type: "text", text: message }],
  }));

  server.registerTool(
    "count",
    { description: "Count up and report each step", inputSchema: { to: z.number().int() }, outputSchema: { total: z.number() } },
    async ({ to }, extra) => {
      const progressToken = extra._meta?.progressToken;
      for (let step = 1; progressToken !== undefined && step <= to; step++) {
        const params = { progressToken, progress: step, total: to, message: `step ${step}` };
        await extra.sendNotification({ method: "notifications/progress", params });
      }
      const structuredContent = { total: to };
      return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
    },
  );

  server.registerTool("fail", { description: "Fail", inputSchema: { why: z.string() } }, ({ why }) => {
    throw new Error(why);
  });

  return server;
};

await serve(build);
