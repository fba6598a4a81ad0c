// A server on the TypeScript SDK 2.x with everything beside plain tools: the same as features_v2.py. It speaks both eras.
import { writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import {
  McpServer,
  ResourceNotFoundError,
  ResourceTemplate,
  acceptedContent,
  completable,
  inputRequired,
  inputResponse,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { serve } from "./serve_v2.mjs";

const text = (text) => ({ content: [{ type: "text", text }] });
const Who = z.object({ name: z.string().min(2), age: z.number().int().default(30) });
const Sure = z.object({ sure: z.boolean() });
const cacheHint = { ttlMs: 60_000, cacheScope: "private" };
const cacheHints = Object.fromEntries(["tools/list", "prompts/list", "resources/list"].map((method) => [method, cacheHint]));
const watched = new Set();
let isGrown = false;

const offerMore = (server) => {
  server.registerTool("extra", {}, () => text("extra"));
  server.registerResource("extra", "notes:///extra", {}, (uri) => ({ contents: [{ uri: uri.href, text: "extra" }] }));
  server.registerPrompt("extra", {}, () => ({ messages: [] }));
};

const build = () => {
  const server = new McpServer(
    { name: "features", version: "1.0.0" },
    {
      instructions: "Try everything.",
      capabilities: { logging: {}, resources: { subscribe: true, listChanged: true } },
      cacheHints,
    },
  );
  const low = server.server;
  low.setRequestHandler("resources/subscribe", ({ params }) => (watched.add(params.uri), {}));
  low.setRequestHandler("resources/unsubscribe", ({ params }) => (watched.delete(params.uri), {}));

  // One question depends on the answer to another: two rounds. What was answered before comes back in the state.
  server.registerTool("interview", { inputSchema: z.object({ topic: z.string() }) }, ({ topic }, { mcpReq }) => {
    const { inputResponses } = mcpReq;
    if (!inputResponses) {
      const content = { type: "text", text: "Tell a story" };
      const story = { messages: [{ role: "user", content }], maxTokens: 50, systemPrompt: "Be short." };
      return inputRequired({
        inputRequests: {
          who: inputRequired.elicit({ message: "Who are you?", requestedSchema: Who }),
          story: inputRequired.createMessage(story),
          where: inputRequired.listRoots(),
        },
      });
    }
    const person = acceptedContent(inputResponses, "who", Who);
    if (person) {
      const told = inputResponse(inputResponses, "story").result.content.text;
      const roots = inputResponse(inputResponses, "where").roots.map((root) => root.uri);
      const sure = inputRequired.elicit({ message: `Really, ${person.name}?`, requestedSchema: Sure });
      const requestState = JSON.stringify({ person, told, roots });
      return inputRequired({ inputRequests: { sure }, requestState });
    }
    const { sure } = acceptedContent(inputResponses, "sure", Sure);
    const { person: before, told, roots } = JSON.parse(mcpReq.requestState());
    return text(`${topic}: ${before.name} ${before.age} ${told} ${roots} ${sure}`);
  });

  server.registerTool("optional", {}, ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, "who");
    const who = inputRequired.elicit({ message: "Who are you?", requestedSchema: Who });
    return answer.kind === "missing" ? inputRequired({ inputRequests: { who } }) : text(answer.action);
  });

  server.registerTool("visit", {}, ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, "login");
    const login = inputRequired.elicitUrl({ message: "Log in", url: "https://example.com/login" });
    if (answer.kind === "missing") return inputRequired({ inputRequests: { login }, requestState: "half way" });
    return text(`${answer.action} ${mcpReq.requestState()}`);
  });

  server.registerTool("talk", {}, async ({ mcpReq }) => {
    for (const level of ["debug", "warning", "error"]) await mcpReq.log(level, { said: level }, "talk");
    return text("said");
  });

  server.registerTool("grow", {}, ({ mcpReq }) => {
    isGrown = true;
    if (isOne(mcpReq)) {
      for (const list of ["tools", "prompts", "resources"]) notify[`${list}Changed`]();
    } else {
      offerMore(server);
    }
    return text("grown");
  });

  server.registerTool("touch", { inputSchema: z.object({ uri: z.string() }) }, async ({ uri }, { mcpReq }) => {
    if (isOne(mcpReq)) notify.resourceUpdated(uri);
    else if (mcpReq.envelope || watched.has(uri)) await low.sendResourceUpdated({ uri });
    return text("touched");
  });

  server.registerTool("wait", {}, async ({ mcpReq: { signal } }) => {
    await new Promise((resolve) => {
      signal.addEventListener("abort", resolve, { once: true });
    });
    writeFileSync(join(homedir(), "cancelled"), "cancelled");
    return text("cancelled");
  });

  const about = { title: "Read me", mimeType: "text/markdown", _meta: { kept: 1 }, cacheHint };
  server.registerResource("readme", "notes:///readme", about, ({ href: uri }) => ({ contents: [{ uri, text: "read me" }] }));
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i)).toString("base64");
  server.registerResource("bytes", "notes:///bytes", {}, ({ href: uri }) => ({ contents: [{ uri, blob: bytes }] }));
  const names = ["readme", "rivers"];
  const complete = { name: (typed) => names.filter((name) => name.startsWith(typed)) };
  const note = new ResourceTemplate("notes:///{name}", { list: undefined, complete });
  server.registerResource("note", note, {}, ({ href: uri }, { name }, { mcpReq }) => {
    if (name === "none") throw new ResourceNotFoundError(uri);
    if (name !== "guarded") return { contents: [{ uri, text: `about ${decodeURIComponent(name)}` }] };
    const given = acceptedContent(mcpReq.inputResponses, "word");
    const word = inputRequired.elicit({ message: "The word?", requestedSchema: z.object({ word: z.string() }) });
    return given ? { contents: [{ uri, text: `the word is ${given.word}` }] } : inputRequired({ inputRequests: { word } });
  });

  const said = (text) => ({ messages: [{ role: "user", content: { type: "text", text } }] });
  const topics = ["tides", "time", "moon"];
  const argsSchema = z.object({
    topic: completable(z.string(), (typed) => topics.filter((topic) => topic.startsWith(typed))),
    depth: completable(z.string(), (typed, context) => [context?.arguments?.topic ?? typed]).optional(),
  });
  server.registerPrompt("explain", { title: "Explain", argsSchema }, ({ topic, depth }) => said(`Explain ${topic}, ${depth}`));
  server.registerPrompt("guided", {}, ({ mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, "topic");
    const topic = inputRequired.elicit({ message: "The topic?", requestedSchema: z.object({ topic: z.string() }) });
    return given ? said(`Explain ${given.topic}`) : inputRequired({ inputRequests: { topic } });
  });
  if (isGrown) offerMore(server);
  return server;
};

const notify = serve(build);
// Whether this server is there for this one request.
const isOne = (mcpReq) => notify && mcpReq.envelope;
