// LangChain's OpenAI package, against a real server with the demo model.
import { AIMessageChunk, HumanMessage, type ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { inPieces, LONG_ANSWER, LONG_PROMPT } from '../support/in-pieces.js';
import { HostedMode, MODEL, MODES, type Mode } from '../support/modes.js';

interface Context {
  hosted: HostedMode;
  chat: ChatOpenAI;
}

const NUMBERS = '3, 4, 5, 6, 7, 8, 9';
const question = 'How is the weather in Cuzco?';

const Forecast = z.object({ city: z.enum(['Cuzco', 'Lima']), days: z.number().int().min(1).max(9) });
const weather = tool(async () => 'Rain', { name: 'weather', description: 'The weather', schema: Forecast });

/** The library's types deny that it is there. */
function outputTokens(message: object): number {
  return (message as { usage_metadata?: { output_tokens: number } }).usage_metadata?.output_tokens ?? 0;
}

function testIn(mode: Mode): void {
  const test = suite<Context>(`clients: @langchain/openai, ${mode} mode`);

  test.before(async (context) => {
    const hosted = await HostedMode.start(mode, 1024);
    context.hosted = hosted;
    context.chat = new ChatOpenAI({
      model: MODEL,
      temperature: 0,
      maxRetries: 0,
      apiKey: 'not-needed',
      configuration: { baseURL: `${hosted.baseUrl}/v1`, defaultHeaders: hosted.authorization },
    });
  });
  test.after(({ hosted }) => hosted.stop());

  test('invokes', async ({ chat }) => {
    const message = await chat.invoke('Count from 3 to 9');
    assert.is(message.content, NUMBERS);
    assert.ok(outputTokens(message) > 5);
    assert.is(message.response_metadata.finish_reason, 'stop');
  });

  test('streams, the same as the whole, with the usage', async ({ chat }) => {
    const { content } = await chat.invoke(LONG_PROMPT);
    assert.match(String(content), LONG_ANSWER);
    const { pieces, whole } = await inPieces(async () => {
      let whole = new AIMessageChunk('');
      const pieces: string[] = [];
      for await (const chunk of await chat.stream(LONG_PROMPT)) {
        whole = whole.concat(chunk);
        if (chunk.content !== '') pieces.push(String(chunk.content));
      }
      return { pieces, whole };
    });
    assert.is(pieces.join(''), content);
    assert.is(whole.content, content);
    assert.ok(outputTokens(whole) > 5);
  });

  test('answers several at once', async ({ chat }) => {
    const messages = await chat.batch(['Count from 3 to 9', 'Count from 3 to 5']);
    assert.equal(
      messages.map(({ content }) => content),
      [NUMBERS, '3, 4, 5'],
    );
  });

  test('gets an answer of the form it asks for', async ({ chat }) => {
    for (const method of ['jsonSchema', 'functionCalling'] as const) {
      const forecast = await chat.withStructuredOutput(Forecast, { method, name: 'weather' }).invoke(question);
      assert.equal(Forecast.parse(forecast), forecast, method);
    }
  });

  test('gets a call of its tool, and sends back what it came to', async ({ chat }) => {
    const called = await chat.bindTools([weather], { tool_choice: 'weather' }).invoke(question);
    const [call, ...more] = called.tool_calls ?? [];
    assert.ok(call && more.length === 0);
    assert.equal(Forecast.parse(call.args), call.args);
    const result = (await weather.invoke({ ...call, type: 'tool_call' })) as ToolMessage;
    assert.is(result.content, 'Rain');
    const conversation = [new HumanMessage(question), called, result];
    const answer = await chat.bindTools([weather], { tool_choice: 'none' }).invoke(conversation);
    assert.type(answer.content, 'string');
  });

  test('reads a streamed call', async ({ chat }) => {
    let whole = new AIMessageChunk('');
    for await (const chunk of await chat.bindTools([weather], { tool_choice: 'required' }).stream(question)) {
      whole = whole.concat(chunk);
    }
    assert.equal(Forecast.parse(whole.tool_calls?.[0]?.args), whole.tool_calls?.[0]?.args);
  });

  test('gets errors that say what was wrong', async ({ chat }) => {
    const thrown = await chat.invoke('word '.repeat(3000)).catch((error: unknown) => error);
    // LangChain recognizes the error by its text, and keeps the client's error as the cause.
    assert.is((thrown as Error).name, 'ContextOverflowError');
    assert.match((thrown as Error).message, /context holds/);
    assert.is((thrown as { cause?: { status?: number } }).cause?.status, 400);
  });

  test('aborts a stream, and the sequence is freed', async ({ chat, hosted }) => {
    const controller = new AbortController();
    const endless = chat.withConfig({ signal: controller.signal });
    const read = async () => {
      for await (const _ of await endless.stream('Count from 1 to 90')) controller.abort();
    };
    await read().catch(() => undefined);
    await hosted.untilFree();
  });

  test.run();
}

for (const mode of MODES) testIn(mode);
