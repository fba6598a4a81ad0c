// Takes a tour of the everything server through the client of the TypeScript SDK and prints what it saw as one JSON object.
//
// tour.mjs 1|2 legacy|auto|REVISION URL|COMMAND [ARG...]
import { connect, refusal, until } from "./connect.mjs";

const [sdk, mode, ...target] = process.argv.slice(2);
const seen = { language: "TypeScript", asked: [], logged: [], told: [], answers: [] };
const handlers = {
  "elicitation/create": (params) => {
    seen.asked.push(params);
    if (params.mode === "url") return { action: "accept" };
    if (seen.declines) {
      delete seen.declines;
      return { action: "decline" };
    }
    const fields = Object.entries(params.requestedSchema.properties);
    const content = Object.fromEntries(fields.filter(([, field]) => "default" in field).map(([name, field]) => [name, field.default]));
    if (fields.some(([name]) => name === "name")) content.name = "Ada";
    return { action: "accept", content };
  },
  "sampling/createMessage": (params) => {
    seen.asked.push(params);
    return { role: "assistant", model: "model-1", content: { type: "text", text: "oolong, of course" } };
  },
  "roots/list": () => ({ roots: [{ uri: "file:///srv/one", name: "One" }] }),
  "notifications/message": ({ level, logger, data }) => {
    seen.logged.push([level, logger, data]);
  },
};
const changes = ["tools/list_changed", "prompts/list_changed", "resources/list_changed", "resources/updated", "elicitation/complete"];
for (const name of changes) {
  handlers[`notifications/${name}`] = () => {
    seen.told.push(name);
  };
}

const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } };
const connection = await connect(sdk, mode, target, { capabilities, handlers });
const { client, isModern } = connection;
// A Modern client asks for log messages with each request.
const meta = isModern ? { _meta: { "io.modelcontextprotocol/logLevel": "info" } } : {};
if (!isModern) await client.setLoggingLevel("info");
const call = (name, given = {}, options) => connection.call({ name, arguments: given, ...meta }, options);
const text = async (name, given) => {
  const { isError, content } = await call(name, given);
  seen.answers.push([name, Boolean(isError), content.map((part) => part.text ?? "").join("")]);
};

seen.version = connection.version;
seen.capabilities = client.getServerCapabilities();
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
seen.resources = (await client.listResources()).resources.map((resource) => resource.uri);
seen.templates = (await client.listResourceTemplates()).resourceTemplates;
seen.prompts = (await client.listPrompts()).prompts;
seen.read = [];
for (const uri of ["tea://about", "tea://logo", "tea://leaf/green"]) seen.read.push(await client.readResource({ uri }));
seen.missing = await refusal(client.readResource({ uri: "tea://leaf/coffee" }));
seen.menu = await call("menu");
seen.pairing = (await client.getPrompt({ name: "pairing", arguments: { tea: "black", dish: "cake" } })).messages;
seen.bad_prompt = await refusal(client.getPrompt({ name: "pairing", arguments: {} }));
seen.invitation = (await client.getPrompt({ name: "invitation" })).messages;
const pairing = { type: "ref/prompt", name: "pairing" };
const leaf = { type: "ref/resource", uri: "tea://leaf/{name}" };
seen.completed = [];
for (const [ref, name, value, known] of [
  [pairing, "dish", "", { tea: "black" }],
  [pairing, "dish", "c"],
  [pairing, "tea", "g"],
  [leaf, "name", "o"],
]) {
  const context = known ? { context: { arguments: known } } : {};
  seen.completed.push((await client.complete({ ref, argument: { name, value }, ...context })).completion.values);
}

await text("choose");
await text("pay");
await text("advise", { mood: "tired" });
await text("locate");
await text("cater");
seen.declines = true;
await text("choose");

seen.progress = [];
const onprogress = ({ progress, total, message }) => seen.progress.push([progress, total, message]);
await call("brew", { steps: 4 }, { onprogress });

const wanted = changes.slice(0, 4);
let subscription;
if (isModern) {
  const lists = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
  subscription = await client.listen({ ...lists, resourceSubscriptions: ["tea://stock"] });
  seen.honoured = subscription.honoredFilter;
} else {
  await client.subscribeResource({ uri: "tea://stock" });
  // Over HTTP it comes on another stream than the answer of the call, and perhaps later.
  await until(() => seen.told.includes("elicitation/complete"), seen);
}
seen.told_before = seen.told.splice(0);
await text("open_season", { name: "spring" });
await text("order", { tea: "black" });
await until(() => wanted.every((name) => seen.told.includes(name)), seen);
await (isModern ? subscription.close() : client.unsubscribeResource({ uri: "tea://stock" }));
seen.tools_then = (await client.listTools()).tools.map((tool) => tool.name);
seen.structured = (await call("order", { tea: "green", grams: 5, gift: true })).structuredContent;
await text("order", { tea: "green", grams: 5000 });
await until(() => seen.logged.length === 2, seen);
await connection.close();
console.log(JSON.stringify(seen));
