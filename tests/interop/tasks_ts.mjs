// Runs the tools of a server as tasks through the client of the TypeScript SDK 1.x and prints what it saw as one JSON object.
//
// tasks_ts.mjs COMMAND [ARG...]
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "tasks", version: "1.0.0" }, { capabilities: { elicitation: { form: {} } } });
const seen = { asked: [] };
client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
  seen.asked.push(params.message);
  return { action: "accept", content: { topic: "tides" } };
});
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
seen.capabilities = client.getServerCapabilities().tasks;
const { tools } = await client.listTools();
seen.tools = Object.fromEntries(tools.map((tool) => [tool.name, tool.execution?.taskSupport]));

const { tasks } = client.experimental;
const options = { task: { ttl: 60_000 } };
const run = async (name) => {
  const steps = [];
  let id, outcome;
  for await (const message of tasks.callToolStream({ name, arguments: {} }, CallToolResultSchema, options)) {
    if (steps.at(-1) !== message.type) steps.push(message.type);
    id ??= message.task?.taskId;
    outcome = message.result?.content[0].text ?? message.error?.message ?? outcome;
  }
  return { steps, id, outcome, status: (await tasks.getTask(id)).status };
};
seen.report = await run("report");
seen.fails = await run("fails");
seen.why = await tasks.getTaskResult(seen.fails.id, CallToolResultSchema);
seen.again = (await tasks.getTaskResult(seen.report.id, CallToolResultSchema)).content[0].text;
for await (const message of tasks.callToolStream({ name: "wait", arguments: {} }, CallToolResultSchema, options)) {
  if (message.type === "taskCreated") seen.cancelled = (await tasks.cancelTask(message.task.taskId)).status;
  else break;
}
seen.listed = (await tasks.listTasks()).tasks.length;
seen.unknown = await tasks.getTask("nobody's").then(() => null, (error) => error.code);
await client.close();
console.log(JSON.stringify(seen));
