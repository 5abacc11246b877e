// Vercel's AI SDK with its provider for compatible servers, against a real server with the demo model.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  APICallError,
  generateObject,
  generateText,
  type LanguageModel,
  Output,
  stepCountIs,
  streamText,
  tool,
} from 'ai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { inPieces, LONG_ANSWER, LONG_PROMPT } from '../support/in-pieces.js';
import { HostedMode, MODEL, MODES, type Mode } from '../support/modes.js';

interface Context {
  hosted: HostedMode;
  model: LanguageModel;
}

const prompt = 'Count from 3 to 9';
const NUMBERS = '3, 4, 5, 6, 7, 8, 9';
const common = { temperature: 0, maxRetries: 0 };

const Forecast = z.object({ city: z.enum(['Cuzco', 'Lima']), days: z.number().int().min(1).max(9) });

function testIn(mode: Mode): void {
  const test = suite<Context>(`clients: @ai-sdk/openai-compatible, ${mode} mode`);

  test.before(async (context) => {
    const hosted = await HostedMode.start(mode, 1024);
    context.hosted = hosted;
    const provider = createOpenAICompatible({
      name: 'chasqui',
      baseURL: `${hosted.baseUrl}/v1`,
      headers: hosted.authorization,
      includeUsage: true,
      supportsStructuredOutputs: true,
    });
    context.model = provider(MODEL);
  });
  test.after(({ hosted }) => hosted.stop());

  test('generates a text', async ({ model }) => {
    const { text, finishReason, usage } = await generateText({ ...common, model, prompt });
    assert.equal([text, finishReason], [NUMBERS, 'stop']);
    assert.is(usage.totalTokens, (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0));
  });

  test('streams a text, the same as the whole', async ({ model }) => {
    const { text } = await generateText({ ...common, model, prompt: LONG_PROMPT });
    assert.match(text, LONG_ANSWER);
    const { pieces, result } = await inPieces(async () => {
      const result = streamText({ ...common, model, prompt: LONG_PROMPT });
      const pieces: string[] = [];
      for await (const piece of result.textStream) pieces.push(piece);
      return { pieces, result };
    });
    assert.is(pieces.join(''), text);
    assert.is(await result.finishReason, 'stop');
    assert.ok(((await result.usage).outputTokens ?? 0) > 5);
  });

  test('generates an object of a schema', async ({ model }) => {
    const { object } = await generateObject({ ...common, model, prompt: 'The weather in Cuzco?', schema: Forecast });
    assert.equal(Forecast.parse(object), object);
    const output = Output.object({ schema: Forecast });
    const streamed = streamText({ ...common, model, prompt: 'The weather in Cuzco?', output });
    assert.equal(await streamed.output, object);
  });

  test('runs a loop of tools', async ({ model }) => {
    const asked: unknown[] = [];
    const weather = tool({
      inputSchema: Forecast,
      execute: async (days) => {
        asked.push(days);
        return 'Rain';
      },
    });
    const { steps } = await generateText({
      ...common,
      model,
      prompt: 'The weather in Cuzco?',
      tools: { weather },
      maxOutputTokens: 200,
      stopWhen: stepCountIs(2),
      // The demo model calls nothing by itself: the first step must, the second answers.
      prepareStep: ({ stepNumber }) => ({
        toolChoice: stepNumber === 0 ? ({ type: 'tool', toolName: 'weather' } as const) : ('none' as const),
      }),
    });
    assert.is(steps.length, 2);
    assert.is(steps[0]?.finishReason, 'tool-calls');
    assert.equal(asked, [Forecast.parse(asked[0])]);
    assert.equal(
      steps[0]?.toolResults.map(({ output }) => output),
      ['Rain'],
    );
  });

  test('streams a call', async ({ model }) => {
    const weather = tool({ inputSchema: Forecast, execute: async () => 'Rain' });
    const { toolCalls, finishReason } = streamText({
      ...common,
      model,
      prompt: 'The weather in Cuzco?',
      tools: { weather },
      toolChoice: { type: 'tool', toolName: 'weather' },
      maxOutputTokens: 200,
    });
    const [call] = await toolCalls;
    assert.equal(Forecast.parse(call?.input), call?.input);
    assert.is(await finishReason, 'tool-calls');
  });

  test('gets errors that say what was wrong', async ({ model }) => {
    const thrown = await generateText({ ...common, model, prompt: 'word '.repeat(3000) }).catch((error) => error);
    assert.ok(APICallError.isInstance(thrown));
    assert.is(thrown.statusCode, 400);
    assert.is(thrown.isRetryable, false);
    assert.match(thrown.message, /context holds/);
  });

  test('aborts a stream, and the sequence is freed', async ({ model, hosted }) => {
    const controller = new AbortController();
    const ignoring = { chasqui: { ignore_eos: true } };
    const { textStream } = streamText({
      ...common,
      model,
      prompt,
      abortSignal: controller.signal,
      providerOptions: ignoring,
      onError: () => undefined,
    });
    for await (const _ of textStream) break;
    controller.abort();
    await hosted.untilFree();
  });

  test.run();
}

for (const mode of MODES) testIn(mode);
