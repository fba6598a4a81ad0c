// Uses the tools of a server through the client of the TypeScript SDK and prints what it saw as one JSON object.
//
// client.mjs 1|2 legacy|auto|REVISION URL|COMMAND [ARG...]
import { connect, refusal } from "./connect.mjs";

const [sdk, mode, ...target] = process.argv.slice(2);
const { client, call, close, version } = await connect(sdk, mode, target);
const answer = ({ isError, content }) => [Boolean(isError), content.map((part) => part.text).join("")];
const seen = { language: "TypeScript", version, server: client.getServerVersion()?.name, progress: [] };
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
seen.echo = answer(await call({ name: "echo", arguments: { message: "grüße ☕" } }));
seen.bad_arguments = answer(await call({ name: "echo", arguments: {} }));
const numbers = Array.from({ length: 200 }, (_, i) => String(i));
const many = await Promise.all(numbers.map((message) => call({ name: "echo", arguments: { message } })));
seen.many = many.every((result, i) => answer(result)[1] === String(i));
seen.unknown_tool = (await refusal(call({ name: "no such tool", arguments: {} }))).slice(0, 2);
const onprogress = ({ progress, total, message }) => seen.progress.push([progress, total, message]);
seen.structured = (await call({ name: "count", arguments: { to: 5 } }, { onprogress })).structuredContent;
seen.fail = answer(await call({ name: "fail", arguments: { why: "on purpose" } }));
const giveUp = new AbortController();
const begun = { signal: giveUp.signal, onprogress: () => giveUp.abort("enough") };
seen.given_up = await call({ name: "wait", arguments: {} }, begun).then(() => false, () => true);
// The server says in its next answer whether it was told.
[, seen.waited] = answer(await call({ name: "waited", arguments: {} }));
await close();
console.log(JSON.stringify(seen));
