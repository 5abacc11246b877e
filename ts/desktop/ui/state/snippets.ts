/** Programs that use the server, filled in with its address and model, for the SDKs that people have. */

export interface Snippet {
  name: string;
  language: string;
  code: string;
}

const question = 'Why is the sky blue?';

export function snippetsFor(address: string, model: string): readonly Snippet[] {
  const base = address.replace(/\/$/, '').replace(/\/v1$/, '');
  return [
    { name: 'curl', language: 'bash', code: curl(base, model) },
    { name: 'OpenAI · JavaScript', language: 'javascript', code: openaiJavaScript(base, model) },
    { name: 'OpenAI · Python', language: 'python', code: openaiPython(base, model) },
    { name: 'Anthropic · JavaScript', language: 'javascript', code: anthropic(base, model) },
    { name: 'Vercel AI SDK', language: 'javascript', code: vercel(base, model) },
  ];
}

function curl(base: string, model: string): string {
  const body = { model, messages: [{ role: 'user', content: question }], stream: true };
  return `curl -N ${base}/v1/chat/completions \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`)}'`;
}

function openaiJavaScript(base: string, model: string): string {
  return `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${base}/v1', apiKey: 'none' });
const stream = await client.chat.completions.create({
  model: ${JSON.stringify(model)},
  messages: [{ role: 'user', content: '${question}' }],
  stream: true,
});
for await (const chunk of stream) {
  process.stdout.write(chunk.choices[0]?.delta?.content ?? '');
}`;
}

function openaiPython(base: string, model: string): string {
  return `from openai import OpenAI

client = OpenAI(base_url="${base}/v1", api_key="none")
stream = client.chat.completions.create(
    model=${JSON.stringify(model)},
    messages=[{"role": "user", "content": "${question}"}],
    stream=True,
)
for chunk in stream:
    print(chunk.choices[0].delta.content or "", end="", flush=True)`;
}

function anthropic(base: string, model: string): string {
  return `import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({ baseURL: '${base}', apiKey: 'none' });
const message = await client.messages.create({
  model: ${JSON.stringify(model)},
  max_tokens: 1024,
  messages: [{ role: 'user', content: '${question}' }],
});
console.log(message.content);`;
}

function vercel(base: string, model: string): string {
  return `import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';

const chasqui = createOpenAICompatible({ name: 'chasqui', baseURL: '${base}/v1' });
const { textStream } = streamText({
  model: chasqui(${JSON.stringify(model)}),
  prompt: '${question}',
});
for await (const text of textStream) process.stdout.write(text);`;
}

/** The request of a log line, asked again by hand. What people sent is not in the log, so a question stands in for it. */
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
