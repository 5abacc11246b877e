/** Requests report nested members without effect, but not the fields of earlier replies that clients send back. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testApp } from '../support/build-app.js';

const test = suite('http: ignored members');

const URLS = {
  chat: '/api/chat',
  messages: '/v1/messages',
  responses: '/v1/responses',
  count: '/v1/messages/count_tokens',
  conversation: '/v1/conversations',
} as const;

const hi = { role: 'user', content: 'Hi' };
const call = { name: 'get', arguments: { city: 'Lima' } };
const hint = { cache_control: { type: 'ephemeral' } };
const summary = [{ type: 'summary_text', text: 'Think.' }];

/** `reported` is the header of the reply; an empty text if there is none. */
const cases: readonly (readonly [keyof typeof URLS, body: object, reported: string])[] = [
  ['responses', { text: { verbosity: 'low' } }, 'text.verbosity'],
  ['responses', { reasoning: { effort: 'low', summary: 'auto' } }, 'reasoning.summary'],
  ['responses', { input: [{ ...hi, colour: 'red' }] }, 'input[0].colour'],
  [
    'responses',
    { input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi', colour: 1 }] }] },
    'input[0].content[0].colour',
  ],
  [
    'responses',
    { input: [hi, { type: 'reasoning', summary: [], encrypted_content: 'x' }] },
    'input[1].encrypted_content',
  ],
  ['responses', { input: [hi, { type: 'configuration_update', text: { verbosity: 'low' } }] }, 'input[1]'],
  ['responses', { tools: [{ type: 'web_search', filters: {} }] }, 'tools[0]'],
  ['conversation', { items: [{ ...hi, colour: 'red' }] }, 'items[0].colour'],
  ['messages', { messages: [{ ...hi, colour: 'red' }] }, 'messages[0].colour'],
  ['messages', { output_config: { task_budget: { type: 'tokens', total: 9 } } }, 'output_config.task_budget'],
  [
    'messages',
    {
      messages: [
        {
          role: 'user',
          content: [{ type: 'document', source: { type: 'text', data: 'Hi' }, citations: { enabled: true } }],
        },
      ],
    },
    'messages[0].content[0].citations',
  ],
  ['messages', { tools: [{ name: 'get', input_schema: {}, input_examples: [{}] }] }, 'tools[0].input_examples'],
  ['messages', { context_management: { edits: [{ type: 'clear', trigger: {} }] } }, 'context_management'],
  [
    'messages',
    { messages: [hi, { role: 'assistant', content: [{ type: 'fallback' }, { type: 'text', text: 'x' }] }, hi] },
    'messages[1].content[0]',
  ],
  ['count', { messages: [{ ...hi, colour: 'red' }] }, 'messages[0].colour'],
  ['chat', { messages: [{ ...hi, files: ['x'] }] }, 'messages[0].files'],
  [
    'chat',
    {
      messages: [
        hi,
        { role: 'assistant', tool_calls: [{ type: 'function', function: { ...call, strict: true } }] },
        { role: 'tool', content: 'x' },
      ],
    },
    'messages[1].tool_calls[0].function.strict',
  ],
  [
    'responses',
    {
      text: { format: { type: 'text' } },
      input: [
        hi,
        { type: 'reasoning', id: 'rs_1', status: 'completed', summary, encrypted_content: null },
        {
          type: 'message',
          id: 'msg_1',
          status: 'completed',
          phase: 'commentary',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'x', annotations: [], logprobs: [] }],
        },
        { type: 'function_call', id: 'fc_1', status: 'completed', call_id: 'c', name: 'get', arguments: '{}' },
        { type: 'function_call_output', id: 'fo_1', status: 'completed', call_id: 'c', output: 'x' },
        { type: 'shell_call', id: 'sh_1', status: 'completed', call_id: 'd', action: {}, environment: null },
        { type: 'shell_call_output', call_id: 'd', output: [], max_output_length: 9 },
      ],
    },
    '',
  ],
  [
    'messages',
    {
      system: [{ type: 'text', text: 'x', ...hint }],
      tools: [{ name: 'get', input_schema: {}, ...hint, defer_loading: true }],
      messages: [
        hi,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'x', signature: 'y' },
            { type: 'text', text: 'x', citations: null },
            { type: 'tool_use', id: 't', name: 'get', input: {}, caller: { type: 'direct' }, ...hint },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'x', ...hint }] },
      ],
    },
    '',
  ],
  ['chat', { messages: [hi, { role: 'assistant', content: 'x', thinking: 'y' }, { ...hi, images: [] }] }, ''],
  // LiteLLM sends an empty list with each message.
  ['chat', { messages: [{ role: 'system', content: 'x', images: [] }, hi] }, ''],
  ['chat', { messages: [{ role: 'system', content: 'x', images: ['eA=='] }, hi] }, 'messages[0].images'],
];

const base = {
  chat: { messages: [hi], stream: false },
  messages: { messages: [hi], max_tokens: 9 },
  responses: { input: [hi] },
  count: { messages: [hi] },
  conversation: {},
};

for (const [endpoint, body, reported] of cases) {
  const sent = { ...(endpoint !== 'conversation' && { model: 'fake' }), ...base[endpoint], ...body };
  test(`${URLS[endpoint]}: ${JSON.stringify(body).slice(0, 120)} reports ${reported || 'nothing'}`, async () => {
    const { send } = testApp({ model: { takesTools: true } });
    const { statusCode, headers, body: text } = await send(URLS[endpoint], sent);
    assert.is(statusCode, 200, text);
    assert.is(decodeURIComponent(String(headers['x-chasqui-ignored'] ?? '')), reported);
    if (reported === '' || endpoint === 'messages' || endpoint === 'count') return;
    const strict = await testApp({ model: { takesTools: true } }, { strict: true }).send(URLS[endpoint], sent);
    assert.equal([strict.statusCode, strict.json().error.param ?? reported], [400, reported], strict.body);
  });
}

test('the summary of reasoning without content is the reasoning', async () => {
  const { send, engine } = testApp();
  const assistant = { role: 'assistant', content: 'x' };
  const reasoning = (content: object[]) => ({
    model: 'fake',
    input: [{ type: 'reasoning', summary, content }, assistant, hi],
  });
  await send(URLS.responses, reasoning([]));
  await send(URLS.responses, reasoning([{ type: 'reasoning_text', text: 'Long.' }]));
  const told = engine.conversations.map((messages) => messages[0]?.reasoning);
  assert.equal(told, ['Think.', 'Long.']);
});

test('a system message of Ollama is refused beside a raw prompt', async () => {
  const { send } = testApp();
  const reply = await send('/api/generate', { model: 'fake', prompt: 'Hi', raw: true, system: 'Be brief.' });
  assert.is(reply.statusCode, 400, reply.body);
  assert.match(reply.json().error, /^`system` is not supported/);
});

test.run();
