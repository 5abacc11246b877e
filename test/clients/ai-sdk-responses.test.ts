// Vercel's AI SDK with the OpenAI provider: POST /v1/responses of a real server, with references to stored items.
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, type LanguageModel, type ModelMessage, stepCountIs, streamText, tool } from 'ai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { HostedMode, MODEL, MODES, type Mode } from '../support/modes.js';

interface Context {
  hosted: HostedMode;
  model: LanguageModel;
  /** The bodies of all requests. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every kind
  sent: any[];
}

const prompt = 'Count from 3 to 9';
const NUMBERS = '3, 4, 5, 6, 7, 8, 9';
const common = { temperature: 0, maxRetries: 0 };
const Forecast = z.object({ city: z.enum(['Cuzco', 'Lima']), days: z.number().int().min(1).max(9) });

function testIn(mode: Mode): void {
  const test = suite<Context>(`clients: @ai-sdk/openai, ${mode} mode`);

  test.before(async (context) => {
    const hosted = await HostedMode.start(mode, 1024);
    context.hosted = hosted;
    context.sent = [];
    const provider = createOpenAI({
      baseURL: `${hosted.baseUrl}/v1`,
      apiKey: 'not-needed',
      headers: hosted.authorization,
      fetch: (url, init) => {
        context.sent.push(JSON.parse(String(init?.body)));
        return fetch(url, init);
      },
    });
    context.model = provider(MODEL);
  });
  test.after(({ hosted }) => hosted.stop());

  test('its second turn refers to the first', async ({ model, sent }) => {
    const first = await generateText({ ...common, model, prompt });
    assert.is(first.text, NUMBERS);
    const messages: ModelMessage[] = [
      { role: 'user', content: prompt },
      ...first.response.messages,
      { role: 'user', content: 'Count from 3 to 5' },
    ];
    const second = await generateText({ ...common, model, messages });
    assert.ok(second.text.length > 0);
    assert.ok(sent.at(-1).input.some(({ type }: { type?: string }) => type === 'item_reference'));
    const longer = (second.usage.inputTokens ?? 0) - (first.usage.inputTokens ?? 0);
    assert.ok(longer > 20, `the second prompt is only ${longer} tokens longer`);
    const streamed = streamText({ ...common, model, messages });
    assert.is(await streamed.text, second.text);
  });

  test('runs a loop of tools', async ({ model }) => {
    const weather = tool({ inputSchema: Forecast, execute: async () => 'Rain' });
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
    assert.equal(
      steps[0]?.toolResults.map(({ output }) => output),
      ['Rain'],
    );
  });

  test.run();
}

for (const mode of MODES) testIn(mode);
