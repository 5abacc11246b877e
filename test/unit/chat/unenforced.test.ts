import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChatCompletionRequest } from '../../../ts/api/shared/chat/chat-schema.js';
import { unenforcedLimits, unenforcedParts } from '../../../ts/api/shared/chat/render-chat.js';
import { ChasquiError } from '../../../ts/errors.js';
import { FAKE_TAGS, FakeEngine } from '../../support/fake-engine.js';

const test = suite('unit: parts of a request that are not enforced');

test('all schemas of a request are converted, and at most one part more than asked for is listed', async () => {
  const engine = new FakeEngine();
  const partsOf = (body: ChatCompletionRequest, max: number) => unenforcedParts(engine, body, max);
  const schema = { uniqueItems: true, properties: { a: { format: 'color' } } };
  const tool = { type: 'function' as const, function: { name: 'f', parameters: schema } };
  const body = { model: 'm', messages: [] };
  assert.equal(await partsOf(body, 5), []);
  assert.equal(await partsOf({ ...body, tools: [tool, tool] }, 2), [
    ...['uniqueItems', 'properties.a.format'].map((keyword) => `tools[0].function.parameters.${keyword}`),
    'tools[1].function.parameters.uniqueItems',
  ]);
  assert.equal(await partsOf({ ...body, tools: [tool], tool_choice: 'none' }, 5), []);
  assert.is((await partsOf({ ...body, json_schema: schema }, 5))[0], 'json_schema.uniqueItems');
  const ofObject = { type: 'json_object' as const, schema };
  assert.is((await partsOf({ ...body, response_format: ofObject }, 5))[0], 'response_format.schema.uniqueItems');
  const format = { type: 'json_schema' as const, json_schema: { name: 'x', schema } };
  const path = 'response_format.json_schema.schema.uniqueItems';
  assert.is((await partsOf({ ...body, response_format: format }, 5))[0], path);
  const strict = { ...body, response_format: { ...format, json_schema: { ...format.json_schema, strict: true } } };
  const refused = await partsOf(strict, 5).catch((error: unknown) => error);
  assert.instance(refused, ChasquiError);
  assert.equal([(refused as ChasquiError).code, (refused as ChasquiError).param], ['unsupported_parameter', path]);
});

test('a limit of reasoning, where reasoning cannot be told from the rest', () => {
  const limits = { reasoning_budget_tokens: 3, thinking_budget_tokens: 0 };
  const body = { model: 'm', messages: [], ...limits };
  assert.equal(unenforcedLimits(body, { reasoning: null }), Object.keys(limits));
  assert.equal(unenforcedLimits(body, { reasoning: FAKE_TAGS }), []);
  const grammar = 'root ::= [a-z]* "</think>" [0-9]';
  assert.equal(unenforcedLimits({ ...body, grammar }, { reasoning: FAKE_TAGS }), []);
  assert.equal(
    unenforcedLimits({ ...body, grammar: 'root ::= [a-z]*' }, { reasoning: FAKE_TAGS }),
    Object.keys(limits),
  );
  const detected = { reasoning: { ...FAKE_TAGS, isDetected: true } };
  assert.equal(unenforcedLimits(body, detected), []);
  const ofContent = { ...body, grammar: 'root ::= [a-z]*', grammarIsOfContent: true as const };
  assert.equal(unenforcedLimits(ofContent, { reasoning: FAKE_TAGS }), []);
  assert.equal(unenforcedLimits(ofContent, detected), Object.keys(limits));
  assert.equal(unenforcedLimits({ ...body, reasoning_budget_tokens: -1 }, { reasoning: null }), [
    'thinking_budget_tokens',
  ]);
});

test.run();
