// Runs the tools of a server as tasks through the client of the TypeScript SDK 1.x and prints what it saw as one JSON object.
//
// tasks.mjs URL|COMMAND [ARG...]
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { connect } from "./connect.mjs";

const seen = { asked: [] };
const elicit = ({ message }) => {
  seen.asked.push(message);
  return { action: "accept", content: { topic: "tides" } };
};
const capabilities = { elicitation: { form: {} } };
const handlers = { "elicitation/create": elicit };
const { client, close } = await connect("1", "legacy", process.argv.slice(2), { capabilities, handlers });
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
await close();
console.log(JSON.stringify(seen));
