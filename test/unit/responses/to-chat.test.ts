import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InputItem } from '../../../ts/api/openai/responses/input-schema.js';
import { toChat } from '../../../ts/api/openai/responses/response-to-chat.js';
import type { ResponsesRequest } from '../../../ts/api/openai/responses/schema.js';
import { ChasquiError } from '../../../ts/errors.js';

const test = suite('unit: responses request → chat body');

const chatOf = (request: Partial<ResponsesRequest>) => toChat({ model: 'm', input: 'Hi', ...request }).body;
const messagesOf = (...input: InputItem[]) => chatOf({ input }).messages;

test('a text is the user’s message, after the instructions', () => {
  assert.equal(chatOf({ instructions: 'Be brief.' }), {
    model: 'm',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ],
  });
});

test('consecutive reasoning, text and calls become one message, followed by the results', () => {
  const messages = messagesOf(
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Use tools.' }] },
    { type: 'message', role: 'user', content: 'Weather?' },
    { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Two cities.' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
    { type: 'function_call', call_id: 'a', name: 'weather', arguments: '{"city":"Cuzco"}' },
    { type: 'function_call', call_id: 'b', name: 'weather', arguments: '{"city":"Lima"}' },
    { type: 'function_call_output', call_id: 'a', output: 'Rain' },
    { type: 'function_call_output', call_id: 'b', output: [{ type: 'input_text', text: 'Sun' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
  );
  const call = (id: string, city: string) => ({
    id,
    type: 'function',
    function: { name: 'weather', arguments: `{"city":"${city}"}` },
  });
  assert.equal(messages, [
    { role: 'developer', content: [{ type: 'text', text: 'Use tools.' }] },
    { role: 'user', content: 'Weather?' },
    {
      role: 'assistant',
      reasoning_content: 'Two cities.',
      content: [{ type: 'text', text: 'I look.' }],
      tool_calls: [call('a', 'Cuzco'), call('b', 'Lima')],
    },
    { role: 'tool', tool_call_id: 'a', content: 'Rain' },
    { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'Sun' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'No.' }] },
  ]);
});

test('reasoning after an answer begins another message, and so does a second text', () => {
  const messages = messagesOf(
    { type: 'message', role: 'assistant', content: 'One' },
    { type: 'message', role: 'assistant', content: 'Two' },
    { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Hm.' }] },
    { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
  );
  assert.equal(messages, [
    { role: 'assistant', content: 'One' },
    { role: 'assistant', content: 'Two' },
    {
      role: 'assistant',
      reasoning_content: 'Hm.',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
  ]);
});

test('reasoning that cannot be read is left out', () => {
  assert.equal(messagesOf({ type: 'reasoning' }, { type: 'message', role: 'user', content: 'a' }), [
    { role: 'user', content: 'a' },
  ]);
});

const picture: { type: 'input_image'; image_url: string } = {
  type: 'input_image',
  image_url: 'data:image/png;base64,AA',
};
const shown = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } };

test('images stay in their place; those of a tool’s result are shown after the results', () => {
  const messages = messagesOf(
    {
      type: 'message',
      role: 'user',
      content: [picture, { type: 'input_text', text: 'What?' }],
    },
    { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'Here' }, picture] },
    { type: 'function_call_output', call_id: 'b', output: [picture] },
    { type: 'message', role: 'user', content: 'And?' },
    { type: 'function_call_output', call_id: 'c', output: [picture] },
  );
  assert.equal(messages, [
    {
      role: 'user',
      content: [shown, { type: 'text', text: 'What?' }],
    },
    { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'Here' }] },
    { role: 'tool', tool_call_id: 'b', content: '' },
    { role: 'user', content: [shown, shown, { type: 'text', text: 'And?' }] },
    { role: 'tool', tool_call_id: 'c', content: '' },
    { role: 'user', content: [shown] },
  ]);
});

test('tools, their choice and the format are those of chat bodies', () => {
  const tools = [
    { type: 'function', name: 'f', description: 'F', parameters: { type: 'object' }, strict: true },
    { type: 'function', name: 'g', parameters: null, description: null },
  ];
  const f = {
    type: 'function',
    function: { name: 'f', description: 'F', parameters: { type: 'object' }, strict: true },
  };
  const g = { type: 'function', function: { name: 'g' } };
  const { messages, model, ...rest } = chatOf({ tools, tool_choice: { type: 'function', name: 'g' } });
  assert.equal(rest, { tools: [f, g], tool_choice: { type: 'function', function: { name: 'g' } } });

  const allowed = chatOf({
    tools,
    tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'g' }] },
    parallel_tool_calls: false,
  });
  assert.equal([allowed.tools, (allowed as { tool_choice?: unknown }).tool_choice], [[g], 'required']);

  const format = { type: 'json_schema' as const, name: 'n', schema: { type: 'object' }, strict: true };
  assert.equal(chatOf({ text: { format } }).response_format, {
    type: 'json_schema',
    json_schema: { name: 'n', schema: { type: 'object' }, strict: true },
  });
  assert.equal(chatOf({ text: { format: { type: 'json_object' } } }).response_format, { type: 'json_object' });
});

test('settings go by their names in chat bodies', () => {
  const { model, messages, ...rest } = chatOf({
    temperature: 0.5,
    top_p: 0.9,
    max_output_tokens: 7,
    reasoning: { effort: 'low' },
    include: ['message.output_text.logprobs'],
    seed: 3,
    stop: ['x'],
    metadata: { a: 'b' },
    store: true,
  });
  assert.equal(rest, {
    temperature: 0.5,
    top_p: 0.9,
    max_completion_tokens: 7,
    reasoning_effort: 'low',
    logprobs: true,
    top_logprobs: 0,
    seed: 3,
    stop: ['x'],
  });
});

test('a tool that only OpenAI’s servers run is passed over', () => {
  const { body, passedOver } = toChat({
    model: 'm',
    input: 'Hi',
    tools: [{ type: 'web_search' }, { type: 'function', name: 'f' }],
  });
  assert.equal(body.tools, [{ type: 'function', function: { name: 'f' } }]);
  assert.equal(passedOver, ['tools[0]']);
});

test('errors in the chat body name the fields of the request', () => {
  const { body: chat, origins } = toChat({
    model: 'm',
    instructions: 'Be brief.',
    input: [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a' }, picture] },
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{' },
      { type: 'function_call_output', call_id: 'a', output: [picture] },
    ],
    tools: [
      { type: 'function', name: 'f' },
      { type: 'function', name: 'g' },
    ],
    tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'g' }] },
  });
  const names: [string, string][] = [
    ['messages', 'input'],
    ['messages[0].content', 'instructions'],
    ['messages[1].content[1]', 'input[0].content[1]'],
    ['messages[1].content[1].image_url.url', 'input[0].content[1].image_url'],
    ['messages[2].tool_calls', 'input[1]'],
    ['messages[2].tool_calls[0].function.arguments', 'input[1].arguments'],
    ['messages[4].content[0].image_url', 'input[2].output[0].image_url'],
    ['tools[0].function.parameters.properties.x', 'tools[1].parameters.properties.x'],
    ['tool_choice.function.name', 'tool_choice.name'],
    ['response_format.json_schema.schema', 'text.format.schema'],
    ['max_completion_tokens', 'max_output_tokens'],
    ['reasoning_effort', 'reasoning.effort'],
    ['temperature', 'temperature'],
  ];
  for (const [field, origin] of names) {
    const refusal = new ChasquiError('invalid_value', `\`${field}\` is wrong.`, field);
    const error = origins.translate(refusal, chat) as ChasquiError;
    assert.equal([error.param, error.message], [origin, `\`${origin}\` is wrong.`]);
  }
  const busy = new ChasquiError('queue_full', 'Busy.');
  assert.is(origins.translate(busy, chat), busy);
  const long = origins.translate(new ChasquiError('context_length_exceeded', 'Too long.'), chat) as ChasquiError;
  assert.equal([long.code, long.param], ['context_length_exceeded', 'input']);
});

test.run();
