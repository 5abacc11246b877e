// Ollama's official client against a real server with the demo model.
import { type ChatResponse, Ollama } from 'ollama';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inPieces, LONG_ANSWER, LONG_PROMPT } from '../support/in-pieces.js';
import { HostedMode, MODEL, type Mode } from '../support/modes.js';

interface Context {
  hosted: HostedMode;
  client: Ollama;
}

const NUMBERS = '3, 4, 5, 6, 7, 8, 9';
const messages = [{ role: 'user', content: 'Count from 3 to 9' }];
const options = { temperature: 0 };

const parameters = {
  type: 'object',
  properties: { city: { type: 'string', enum: ['Cuzco', 'Lima'] } },
  required: ['city'],
};

function testIn(mode: Mode): void {
  const test = suite<Context>(`clients: ollama, ${mode} mode`);

  test.before(async (context) => {
    context.hosted = await HostedMode.start(mode, 1024);
    context.client = new Ollama({ host: context.hosted.baseUrl });
  });
  test.after(({ hosted }) => hosted.stop());

  test('chats', async ({ client }) => {
    const reply = await client.chat({ model: MODEL, messages, options });
    assert.equal([reply.message.content, reply.done_reason], [NUMBERS, 'stop']);
    assert.ok(reply.prompt_eval_count > 5 && reply.eval_count > 5);
    assert.ok(reply.eval_duration > 1000 && reply.total_duration >= reply.eval_duration);
  });

  test('streams a chat, the same as the whole', async ({ client }) => {
    const long = { messages: [{ role: 'user', content: LONG_PROMPT }], options };
    const { message } = await client.chat({ model: MODEL, ...long });
    assert.match(message.content, LONG_ANSWER);
    const { pieces, last } = await inPieces(async () => {
      const pieces: string[] = [];
      let last: ChatResponse | undefined;
      for await (last of await client.chat({ model: `${MODEL}:latest`, ...long, stream: true })) {
        if (last.message.content !== '') pieces.push(last.message.content);
      }
      return { pieces, last };
    });
    assert.is(pieces.join(''), message.content);
    assert.equal([last?.done, last?.done_reason], [true, 'stop']);
  });

  test('gets JSON that follows a schema', async ({ client }) => {
    const { message } = await client.chat({ model: MODEL, messages, options, format: parameters });
    assert.ok(['Cuzco', 'Lima'].includes(JSON.parse(message.content).city));
  });

  test('offers tools, and tells of their results', async ({ client }) => {
    const tool = { type: 'function', function: { name: 'weather', description: 'The weather.', parameters } };
    const call = { function: { name: 'weather', arguments: { city: 'Lima' } } };
    const reply = await client.chat({
      model: MODEL,
      tools: [tool],
      messages: [
        ...messages,
        { role: 'assistant', content: '', tool_calls: [call] },
        { role: 'tool', tool_name: 'weather', content: 'Rain' },
      ],
      options: { ...options, num_predict: 16 },
    });
    assert.ok(reply.eval_count > 0);
  });

  test('generates, raw as well', async ({ client }) => {
    const { response } = await client.generate({ model: MODEL, prompt: 'Count from 3 to 9', options });
    assert.is(response, NUMBERS);
    const raw = await client.generate({
      model: MODEL,
      prompt: '3, 4,',
      raw: true,
      options: { ...options, num_predict: 4 },
    });
    assert.equal([raw.eval_count, raw.done_reason], [4, 'length']);
  });

  test('lists, shows and loads models', async ({ client }) => {
    const { models } = await client.list();
    assert.equal(
      models.map(({ name }) => name),
      [`${MODEL}:latest`],
    );
    const { capabilities, details } = await client.show({ model: MODEL });
    assert.ok(capabilities.includes('completion'));
    assert.is(details.format, 'gguf');
    assert.is((await client.generate({ model: MODEL, prompt: '' })).done_reason, 'load');
    assert.is((await client.ps()).models[0]?.name, `${MODEL}:latest`);
    assert.match((await client.version()).version, /^\d+\.\d+\.\d+$/);
  });

  test('embeds texts, too long ones too', async ({ client }) => {
    const { embeddings } = await client.embed({ model: MODEL, input: ['Hello', 'word '.repeat(3000)] });
    assert.is(embeddings.length, 2);
    assert.ok((embeddings[0]?.length ?? 0) > 10);
    assert.is((await client.embeddings({ model: MODEL, prompt: 'Hello' })).embedding.length, embeddings[0]?.length);
  });

  test('gets errors that say what was wrong', async ({ client }) => {
    const failure = await client
      .chat({ model: MODEL, messages: [{ role: 'user', content: 'word '.repeat(3000) }] })
      .catch((error: unknown) => error);
    assert.match(String(failure), /ResponseError: .*context holds/);
    if (mode === 'desktop') return;
    const missing = await client.chat({ model: 'other', messages }).catch((error: unknown) => error);
    assert.match(String(missing), /`other` is not served/);
  });

  test('aborts a stream, and the sequence is freed', async ({ client, hosted }) => {
    const stream = await client.chat({ model: MODEL, messages, options: { num_predict: 900 }, stream: true });
    for await (const _ of stream) break;
    stream.abort();
    await hosted.untilFree();
  });

  test.run();
}

for (const mode of ['runtime', 'desktop'] as const) testIn(mode);
