/** Starts an installed server and sends a request. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import * as assert from 'uvu/assert';
import { startChasqui } from './installation.js';

/** The answer of the demo model; the server has ended well when this returns. */
export async function ask(folder: string, start = startChasqui): Promise<string> {
  const server = start(folder, 'serve', '--port', '0');
  let complaint = '';
  server.stderr?.on('data', (data) => {
    complaint += data;
  });
  const exited = once(server, 'exit');
  try {
    const url = await firstUrl(server.stdout as NodeJS.ReadableStream);
    assert.ok(url, complaint);
    const reply = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'chasqui-demo',
        messages: [{ role: 'user', content: 'Hello!' }],
        temperature: 0,
        max_tokens: 20,
      }),
    });
    const body = (await reply.json()) as { choices: { message: { content: string } }[] };
    assert.is(reply.status, 200, JSON.stringify(body));
    return body.choices[0]?.message.content ?? '';
  } finally {
    server.kill('SIGTERM');
    assert.equal(await exited, [0, null], complaint);
  }
}

async function firstUrl(stdout: NodeJS.ReadableStream): Promise<string | undefined> {
  for await (const line of createInterface({ input: stdout })) {
    const [, url] = /^Serving .* at (http:\S+)\/v1$/.exec(line) ?? [];
    if (url) {
      stdout.resume();
      return url;
    }
  }
  return undefined;
}
