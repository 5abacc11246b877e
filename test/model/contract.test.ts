// The contract of all engines: in this process, in a child process, and the fake of the other tests.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChatMessage, Engine, Token } from '../../ts/engine/engine.js';
import { completeJob, type GenerateOptions, grammarOf } from '../../ts/engine/job.js';
import { ChasquiError, loadModel } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { FakeEngine } from '../support/fake-engine.js';
import { until } from '../support/until.js';

/** An unread job is paused before it fills this context. */
const OPTIONS = { contextSize: 4096, parallel: 2, threads: 1, maxQueue: 2 };
const LONG = Array.from({ length: 300 }, (_, at) => [{ text: `${at} ` }]);

const ENGINES: Record<string, { open(): Promise<Engine>; computes: boolean }> = {
  'in this process': { open: () => loadModel(demoModelPath, OPTIONS), computes: true },
  'in a process of its own': { open: () => loadModel(demoModelPath, { ...OPTIONS, process: true }), computes: true },
  'the fake': { open: async () => new FakeEngine({ batches: () => LONG }), computes: false },
};

const messages: ChatMessage[] = [{ role: 'user', content: 'Count from 3 to 9.' }];

async function read(engine: Engine, options: GenerateOptions): Promise<Token[]> {
  const tokens: Token[] = [];
  for await (const token of engine.submit(completeJob(options))) tokens.push(token);
  return tokens;
}

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error) => error,
  );
}

for (const [name, { open, computes }] of Object.entries(ENGINES)) {
  const test = suite<{ engine: Engine }>(`model: an engine ${name}`);

  test.before(async (context) => {
    context.engine = await open();
  });
  test.after(({ engine }) => engine.close());

  test('it is ready and says what it has loaded', async ({ engine }) => {
    assert.is(engine.state, 'ready');
    assert.type(engine.model.id, 'string');
    assert.ok(engine.model.contextLength > 0);
  });

  test('arguments and results are plain data', async ({ engine }) => {
    const rendered = await engine.render(messages);
    assert.equal(structuredClone(rendered), rendered);
    const job = completeJob({ ...rendered, maxTokens: 3, temperature: 0 });
    const tokens: Token[] = [];
    await engine.submit(structuredClone(job)).forEachBatch((batch) => void tokens.push(...batch));
    assert.equal(structuredClone(tokens), tokens);
  });

  test('tokens come in order, with a finish on the last', async ({ engine }) => {
    const tokens = await read(engine, { prompt: 'Count from 3 to 9.', maxTokens: 12, temperature: 0 });
    assert.ok(tokens.length > 1);
    assert.equal(
      tokens.map(({ finish }) => finish !== undefined),
      tokens.map((_, at) => at === tokens.length - 1),
    );
  });

  test('leaving a stream cancels its job', async ({ engine }) => {
    for await (const token of engine.submit(completeJob({ prompt: 'Hi', ignoreEos: true }))) {
      assert.is(token.finish, undefined);
      break;
    }
    await until(async () => (await engine.stats()).active === 0, 'no sequence is held');
  });

  test('an aborted job rejects with the reason of its signal', async ({ engine }) => {
    const stop = new AbortController();
    const stream = engine.submit(completeJob({ prompt: 'Hi', ignoreEos: true }), { signal: stop.signal });
    await stream.next();
    const reason = new Error('enough');
    stop.abort(reason);
    const seen = await rejection(stream.forEachBatch(() => {}));
    assert.is(seen, reason);
  });

  test('a prompt that does not fit rejects the stream', async ({ engine }) => {
    const prompt = 'word '.repeat(engine.model.contextLength + 1);
    const error = await rejection(read(engine, { prompt }));
    assert.instance(error, ChasquiError);
    assert.is((error as ChasquiError).code, 'context_length_exceeded');
  });

  test('text becomes tokens, and tokens become bytes', async ({ engine }) => {
    const tokens = await engine.tokenize('Hello');
    assert.instance(tokens, Int32Array);
    const pieces = await engine.pieces([...tokens]);
    assert.is(Buffer.concat(pieces).toString().trim(), 'Hello');
    assert.ok((await engine.countTokens({ prompt: 'Hello', images: [] })) >= tokens.length);
  });

  if (computes) {
    test('equal jobs give equal texts, each with its own grammar', async ({ engine }) => {
      const options = { prompt: 'Count from 3 to 9.', maxTokens: 12, temperature: 0 };
      const [first, second] = await Promise.all([read(engine, options), read(engine, options)]);
      assert.equal(
        first?.map(({ text }) => text),
        second?.map(({ text }) => text),
      );
      const forced = await read(engine, { ...options, grammar: grammarOf('root ::= "yes" | "no"') });
      assert.match(forced.map(({ text }) => text).join(''), /^(yes|no)$/);
    });

    test('completions of a format are parsed, and their log-probabilities come along', async ({ engine }) => {
      const tools = [{ name: 'stop' }];
      const rendered = await engine.render(messages, { tools, toolChoice: 'required' });
      assert.ok(rendered.format);
      const tokens = await read(engine, { ...rendered, maxTokens: 200, temperature: 0, topLogprobs: 1 });
      const names = tokens.flatMap(({ deltas }) => deltas ?? []).flatMap(({ toolName }) => toolName ?? []);
      assert.is(names[0], 'stop');
      assert.type(tokens.at(-1)?.finish?.reasoningTokens, 'number');
      assert.ok(tokens.every(({ logprobs }) => logprobs && logprobs.top.length === 1));
    });

    test('errors keep their code and say what is wrong', async ({ engine }) => {
      const error = await rejection(read(engine, { prompt: 'Hi', grammar: grammarOf('root ::= (') }));
      assert.instance(error, ChasquiError);
      assert.is((error as ChasquiError).code, 'invalid_grammar');
    });

    test('one job too many is refused, and says when to come again', async ({ engine }) => {
      const streams = Array.from({ length: OPTIONS.parallel + OPTIONS.maxQueue + 1 }, () =>
        engine.submit(completeJob({ prompt: 'Hi', ignoreEos: true })),
      );
      const error = await rejection((streams.at(-1) as (typeof streams)[number]).next());
      assert.is((error as ChasquiError).code, 'queue_full');
      assert.ok(((error as ChasquiError).retryAfterSeconds ?? 0) >= 1);
      await Promise.all(streams.map((stream) => stream.return()));
    });
  }

  test('after it is closed everything rejects', async () => {
    if (!computes) return;
    const engine = await open();
    const running = engine.submit(completeJob({ prompt: 'Hi', ignoreEos: true }));
    await running.next();
    await engine.close();
    await engine.close();
    assert.is(engine.state, 'closed');
    const late = [
      running.forEachBatch(() => {}),
      read(engine, { prompt: 'Hi' }),
      engine.tokenize('Hi'),
      engine.stats(),
    ];
    for (const promise of late) assert.is(((await rejection(promise)) as ChasquiError).code, 'engine_closed');
  });

  test('requests reject with the reason of close(), before and after it', async () => {
    if (!computes) return;
    const engine = await open();
    const running = engine.submit(completeJob({ prompt: 'Hi', ignoreEos: true, temperature: 9 }));
    await running.next();
    const texts = Array.from({ length: 2000 }, () => 'word '.repeat(100));
    let readOn = () => {};
    const reading = new Promise<void>((resolve) => {
      readOn = resolve;
    });
    const asked = [running.forEachBatch(() => reading), engine.embed(texts)].map(rejection);
    await until(async () => (await engine.stats()).embeddedTokens > 0, 'texts are embedded');
    const reason = new ChasquiError('request_cancelled', 'It was unloaded.');
    await engine.close(reason);
    readOn();
    const late = [read(engine, { prompt: 'Hi' }), engine.embed(['Hi']), engine.tokenize('Hi'), engine.render(messages)];
    for (const promise of [...asked, ...late.map(rejection)]) assert.is(await promise, reason);
  });

  test.run();
}
