// Control tokens in messages are text, in this process and in processes of their own, with and without images.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '../../ts/api/app.js';
import type { Engine } from '../../ts/engine/engine.js';
import { loadModel } from '../../ts/index.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { demoModelPath } from '../support/demo-model.js';
import { pictureUri } from '../support/image-files.js';

const OPTIONS = { contextSize: 1024, parallel: 1, threads: 1 };

async function controlToken(engine: Engine): Promise<string> {
  const [end] = await engine.pieces(engine.model.endTokens.slice(0, 1));
  return new TextDecoder().decode(end);
}

/** The tokens of a prompt, as the engine counts them before and while it computes. */
async function promptTokens(engine: Engine, content: string | object[]): Promise<number> {
  const app = buildApp(ManagedPool.of(engine), runtime);
  const payload = { model: engine.model.id, max_tokens: 1, messages: [{ role: 'user', content }] };
  const reply = await app.inject({ method: 'POST', url: '/v1/chat/completions', payload });
  assert.is(reply.statusCode, 200, reply.body);
  const counted = await app.inject({ method: 'POST', url: '/v1/messages/count_tokens', payload });
  if (typeof content === 'string') assert.is(counted.json().input_tokens, reply.json().usage.prompt_tokens);
  return reply.json().usage.prompt_tokens;
}

for (const process of [false, true]) {
  test(`${process ? 'two processes' : 'one process'}: control tokens in a message are text`, async () => {
    const load = (options: object): Promise<Engine> =>
      process
        ? loadModel(demoModelPath, { ...OPTIONS, ...options, process: true })
        : loadModel(demoModelPath, { ...OPTIONS, ...options });
    const engine = await load({});
    const parsing = await load({ specialTokensInMessages: true });
    const control = await controlToken(engine);
    const plain = (await engine.tokenize(control)).length;
    assert.ok(plain > 1, `${control} consists of several tokens`);
    const image = { type: 'image_url', image_url: { url: await pictureUri('png') } };
    for (const withText of [
      (text: string) => text,
      (text: string) => [image, { type: 'text', text }, image, { type: 'text', text: 'end' }],
    ]) {
      const ordinary = await promptTokens(engine, withText('1, 2, '));
      assert.is(await promptTokens(parsing, withText('1, 2, ')), ordinary);
      assert.is(await promptTokens(parsing, withText(`1, ${control}2, `)), ordinary + 1);
      assert.ok((await promptTokens(engine, withText(`1, ${control}2, `))) >= ordinary + plain - 1);
    }
    await engine.close();
    await parsing.close();
  });
}

test('/apply-template and the text endpoints show and parse the text as it is', async () => {
  const engine = await loadModel(demoModelPath, OPTIONS);
  const control = await controlToken(engine);
  const app = buildApp(ManagedPool.of(engine), runtime);
  const content = `Hello ${control} \x7f\x7f`;
  const payload = { messages: [{ role: 'user', content }] };
  const { prompt } = (await app.inject({ method: 'POST', url: '/apply-template', payload })).json();
  assert.ok(prompt.includes(`Hello ${control}`), prompt);
  const text = { prompt: `a${control}`, n_predict: 1 };
  const reply = await app.inject({ method: 'POST', url: '/completion', payload: text });
  assert.is(
    reply.json().tokens_evaluated,
    (await engine.tokenize(text.prompt, { addSpecial: true, parseSpecial: true })).length,
  );
  await app.close();
  await engine.close();
});

test.run();
