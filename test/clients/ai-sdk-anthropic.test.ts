// Vercel's AI SDK with its provider for Anthropic, and POST /v1/messages of a real server with the demo model.
import { createAnthropic } from '@ai-sdk/anthropic';
import {
  APICallError,
  generateObject,
  generateText,
  type LanguageModel,
  stepCountIs,
  streamText,
  type ToolSet,
  tool,
} from 'ai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { HostedMode, MODEL, MODES, type Mode } from '../support/modes.js';

interface Context {
  hosted: HostedMode;
  model: LanguageModel;
  provider: ReturnType<typeof createAnthropic>;
}

const prompt = 'Count from 3 to 9';
const NUMBERS = '3, 4, 5, 6, 7, 8, 9';
const common = { temperature: 0, maxRetries: 0, maxOutputTokens: 200 };

const Forecast = z.object({ city: z.enum(['Cuzco', 'Lima']), days: z.number().int().min(1).max(9) });

function testIn(mode: Mode): void {
  const test = suite<Context>(`clients: @ai-sdk/anthropic, ${mode} mode`);

  test.before(async (context) => {
    const hosted = await HostedMode.start(mode, 1024);
    context.hosted = hosted;
    context.provider = createAnthropic({
      baseURL: `${hosted.baseUrl}/v1`,
      apiKey: 'not-needed',
      headers: hosted.authorization,
    });
    context.model = context.provider(MODEL);
  });
  test.after(({ hosted }) => hosted.stop());

  test('generates a text, whole and streamed', async ({ model }) => {
    const { text, finishReason, usage } = await generateText({ ...common, model, prompt });
    assert.equal([text, finishReason], [NUMBERS, 'stop']);
    assert.is(usage.totalTokens, (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0));

    const result = streamText({ ...common, model, prompt });
    let streamed = '';
    for await (const piece of result.textStream) streamed += piece;
    assert.equal([streamed, await result.finishReason], [NUMBERS, 'stop']);
    assert.ok(((await result.usage).outputTokens ?? 0) > 5);
  });

  test('generates an object of a schema', async ({ model }) => {
    const { object } = await generateObject({ ...common, model, prompt: 'The weather in Cuzco?', schema: Forecast });
    assert.equal(Forecast.parse(object), object);
  });

  test('runs a loop of tools, beside one that is passed over', async ({ model, provider }) => {
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
      tools: { weather, web_search: provider.tools.webSearch_20250305({ maxUses: 1 }) as ToolSet[string] },
      stopWhen: stepCountIs(2),
      // The demo model calls nothing by itself: the first step must, the second answers.
      prepareStep: ({ stepNumber }) => ({
        toolChoice: stepNumber === 0 ? ({ type: 'tool', toolName: 'weather' } as const) : ('none' as const),
      }),
    });
    assert.is(steps.length, 2);
    assert.is(steps[0]?.finishReason, 'tool-calls');
    assert.equal(asked, [Forecast.parse(asked[0])]);
  });

  test('sends files: a text is read, anything else is no error', async ({ model }) => {
    const file = (mediaType: string, data: string) => ({ type: 'file' as const, mediaType, data: Buffer.from(data) });
    const content = [
      file('text/plain', 'A list.'),
      file('application/pdf', '%PDF-1.4'),
      { type: 'text' as const, text: prompt },
    ];
    const { usage } = await generateText({ ...common, model, messages: [{ role: 'user', content }] });
    assert.ok((usage.outputTokens ?? 0) > 0);
  });

  test('gets errors that say what was wrong', async ({ model }) => {
    const thrown = await generateText({ ...common, model, prompt: 'word '.repeat(3000) }).catch((error) => error);
    assert.ok(APICallError.isInstance(thrown));
    assert.equal([thrown.statusCode, thrown.isRetryable], [400, false]);
    assert.match(thrown.message, /prompt is too long: \d+ tokens > 1023 maximum/);
  });

  test.run();
}

for (const mode of MODES) testIn(mode);
