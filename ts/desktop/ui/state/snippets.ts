/** Client snippets for common SDKs, filled in with the server's address and model. */

export interface Snippet {
  /** `null`: the coding agents. */
  name: string | null;
  language: string;
  code: string;
}

const question = 'Why is the sky blue?';
/** Placeholder for a key that the page cannot read. */
const unknownKey = 'KEY_FROM_SETTINGS';

export function snippetsFor(address: string, model: string, asksForKey: boolean): readonly Snippet[] {
  const base = address.replace(/\/$/, '').replace(/\/v1$/, '');
  const key = asksForKey ? unknownKey : 'none';
  return [
    { name: 'curl', language: 'bash', code: curl(base, model, asksForKey) },
    { name: 'OpenAI · JavaScript', language: 'javascript', code: openaiJavaScript(base, model, key) },
    { name: 'OpenAI · Python', language: 'python', code: openaiPython(base, model, key) },
    { name: 'Anthropic · JavaScript', language: 'javascript', code: anthropic(base, model, key) },
    { name: 'Vercel AI SDK', language: 'javascript', code: vercel(base, model, key) },
    { name: null, language: 'bash', code: codingAgents(asksForKey) },
  ];
}

/** The launcher supplies the address and the loaded model. */
function codingAgents(asksForKey: boolean): string {
  const variable = asksForKey ? `CHASQUI_API_KEY=${unknownKey} ` : '';
  const agents = ['codex', 'opencode', 'claude'];
  return agents.map((agent) => `${variable}npx chasqui launch ${agent}`).join('\n');
}

/** Quotes for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function curl(base: string, model: string, asksForKey: boolean): string {
  const body = { model, messages: [{ role: 'user', content: question }], stream: true };
  const key = asksForKey ? `  -H 'Authorization: Bearer ${unknownKey}' \\\n` : '';
  return `curl -N ${base}/v1/chat/completions \\
  -H 'Content-Type: application/json' \\
${key}  -d ${quoted(JSON.stringify(body, null, 2))}`;
}

function openaiJavaScript(base: string, model: string, key: string): string {
  return `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${base}/v1', apiKey: '${key}' });
const stream = await client.chat.completions.create({
  model: ${JSON.stringify(model)},
  messages: [{ role: 'user', content: '${question}' }],
  stream: true,
});
for await (const chunk of stream) {
  process.stdout.write(chunk.choices[0]?.delta?.content ?? '');
}`;
}

function openaiPython(base: string, model: string, key: string): string {
  return `from openai import OpenAI

client = OpenAI(base_url="${base}/v1", api_key="${key}")
stream = client.chat.completions.create(
    model=${JSON.stringify(model)},
    messages=[{"role": "user", "content": "${question}"}],
    stream=True,
)
for chunk in stream:
    print(chunk.choices[0].delta.content or "", end="", flush=True)`;
}

function anthropic(base: string, model: string, key: string): string {
  return `import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({ baseURL: '${base}', apiKey: '${key}' });
const message = await client.messages.create({
  model: ${JSON.stringify(model)},
  max_tokens: 1024,
  messages: [{ role: 'user', content: '${question}' }],
});
console.log(message.content);`;
}

function vercel(base: string, model: string, key: string): string {
  return `import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';

const chasqui = createOpenAICompatible({ name: 'chasqui', baseURL: '${base}/v1', apiKey: '${key}' });
const { textStream } = streamText({
  model: chasqui(${JSON.stringify(model)}),
  prompt: '${question}',
});
for await (const text of textStream) process.stdout.write(text);`;
}

/** A request of the log as a curl command. Prompts are not logged, so it has an example prompt. */
export function curlOf(address: string, endpoint: string, model: string): string {
  const base = address.replace(/\/$/, '').replace(/\/v1$/, '');
  const body = bodyFor(endpoint, model);
  const data = body && ` \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(body)}'`;
  return `curl ${base}${endpoint}${data ?? ''}`;
}

function bodyFor(endpoint: string, model: string): object | undefined {
  if (endpoint.endsWith('/chat/completions')) return { model, messages: [{ role: 'user', content: question }] };
  if (endpoint.endsWith('/messages')) {
    return { model, max_tokens: 1024, messages: [{ role: 'user', content: question }] };
  }
  if (endpoint.endsWith('/completions')) return { model, prompt: question };
  return /\/(embeddings|responses)$/.test(endpoint) ? { model, input: question } : undefined;
}
