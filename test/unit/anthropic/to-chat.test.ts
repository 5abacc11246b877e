import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type {
  AnthropicMessage,
  MessagesRequest,
  ToolResultBlock,
  UserBlock,
} from '../../../ts/api/anthropic/messages/schema.js';
import { toChat } from '../../../ts/api/anthropic/messages/to-chat.js';
import { readFiles } from '../../../ts/api/shared/chat/read-files.js';
import { ChasquiError } from '../../../ts/errors.js';

const test = suite('unit: messages request → chat body');

const messages: AnthropicMessage[] = [{ role: 'user', content: 'Hi' }];
const translate = (request: Partial<MessagesRequest>) => toChat({ model: 'm', max_tokens: 5, messages, ...request });
const chatOf = (request: Partial<MessagesRequest>) => translate(request).body;

test('the system prompt comes first; the limit and the stop strings have other names', () => {
  assert.equal(chatOf({ system: 'Be brief.', stop_sequences: ['END'], temperature: 0.5, top_k: 3 }), {
    model: 'm',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ],
    max_completion_tokens: 5,
    stop: ['END'],
    temperature: 0.5,
    top_k: 3,
    echo: false,
  });
});

test('the line for Anthropic’s accounts is no instruction', () => {
  const billing = { type: 'text' as const, text: 'x-anthropic-billing-header: cc_version=2; cch=abc12;' };
  const { messages: rendered } = chatOf({ system: [billing, { type: 'text', text: 'Be brief.' }] });
  assert.equal(rendered[0], { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] });
  assert.equal(chatOf({ system: [billing] }).messages, [{ role: 'user', content: 'Hi' }]);
});

test('blocks become messages: results of tools first, then what the user adds', () => {
  const source = { type: 'base64' as const, media_type: 'image/png', data: 'AA' };
  const shown = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } };
  const { messages: chat } = chatOf({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image', source },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.' },
          { type: 'redacted_thinking' },
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
          { type: 'tool_use', id: 'b', name: 'g', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'a',
            content: [
              { type: 'text', text: 'One' },
              { type: 'image', source },
            ],
          },
          { type: 'tool_result', tool_use_id: 'b' },
          { type: 'text', text: 'Go on' },
          { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
        ],
      },
      { role: 'system', content: 'Hurry.' },
      { role: 'assistant', content: 'So' },
    ],
  });
  assert.equal(chat, [
    { role: 'user', content: [{ type: 'text', text: 'Look' }, shown] },
    {
      role: 'assistant',
      reasoning_content: 'Hm.',
      content: [{ type: 'text', text: 'I look.' }],
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
        { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'One' }] },
    { role: 'tool', tool_call_id: 'b', content: '' },
    {
      role: 'user',
      content: [
        shown,
        { type: 'text', text: 'Go on' },
        { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      ],
    },
    { role: 'system', content: 'Hurry.' },
    { role: 'assistant', content: 'So' },
  ]);
});

test('text around a call is one message of the assistant', () => {
  const { body, origins } = translate({
    messages: [
      { role: 'user', content: 'Look' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'a', name: 'f', input: {} },
          { type: 'text', text: 'I wait.' },
          { type: 'tool_use', id: 'b', name: 'g', input: {} },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'One' }] },
    ],
  });
  assert.equal(body.messages[1], {
    role: 'assistant',
    content: [
      { type: 'text', text: 'I look.' },
      { type: 'text', text: 'I wait.' },
    ],
    tool_calls: [
      { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } },
      { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
    ],
  });
  assert.is(body.messages.length, 3);
  assert.is(origins.nameOf('messages[1].content[1]'), 'messages[1].content[2]');
});

test('results without anything beside them are followed by no message of the user', () => {
  const { messages: chat } = chatOf({
    messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'One' }] }],
  });
  assert.equal(chat, [{ role: 'tool', tool_call_id: 'a', content: 'One' }]);
});

test('tools and their choice are those of chat bodies', () => {
  const tools = [{ name: 'f', description: 'F', input_schema: { type: 'object' } }];
  const chosen = (choice: MessagesRequest['tool_choice']) => {
    const { tool_choice, parallel_tool_calls } = chatOf({ tools, ...(choice && { tool_choice: choice }) }) as {
      tool_choice?: unknown;
      parallel_tool_calls?: boolean;
    };
    return [tool_choice, parallel_tool_calls];
  };
  assert.equal(chatOf({ tools }).tools, [
    { type: 'function', function: { name: 'f', description: 'F', parameters: { type: 'object' } } },
  ]);
  assert.equal(chosen(undefined), [undefined, undefined]);
  assert.equal(chosen({ type: 'auto', disable_parallel_tool_use: true }), ['auto', false]);
  assert.equal(chosen({ type: 'any' }), ['required', undefined]);
  assert.equal(chosen({ type: 'none' }), ['none', undefined]);
  assert.equal(chosen({ type: 'tool', name: 'f' }), [{ type: 'function', function: { name: 'f' } }, undefined]);
});

test('thinking, effort and format are those of chat bodies', () => {
  const {
    model,
    messages: _,
    max_completion_tokens,
    ...rest
  } = chatOf({
    thinking: { type: 'disabled' },
    output_config: { effort: 'max', format: { type: 'json_schema', schema: { type: 'object' } } },
  });
  assert.equal(rest, {
    reasoning_effort: 'xhigh',
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'output', schema: { type: 'object' }, strict: true },
    },
    chat_template_kwargs: { enable_thinking: false },
    echo: false,
  });
});

test('a tool of Anthropic’s own is passed over, unless it must be called', () => {
  const tools = [{ type: 'web_search_20250305', name: 'web_search' }, { name: 'f' }];
  const { body, ignored, origins } = translate({ tools });
  assert.equal([body.tools?.length, ignored], [1, ['tools[0]']]);
  assert.is(origins.nameOf('tools[0].function.parameters'), 'tools[1].input_schema');
  assert.throws(
    () => chatOf({ tools, tool_choice: { type: 'tool', name: 'web_search' } }),
    (error: ChasquiError) => error.code === 'unsupported_parameter' && error.param === 'tools[0]',
  );
  assert.throws(
    () => chatOf({ tools: [{ description: 'F' }] }),
    (error: ChasquiError) => error.code === 'missing_required_parameter' && error.param === 'tools[0].name',
  );
});

test('documents and what a search found are text; what cannot be read is a note', async () => {
  const data = Buffer.from('Grüße').toString('base64');
  const content: UserBlock[] = [
    { type: 'document', source: { type: 'text', data: 'One\ntwo' }, title: 'A "b"', context: 'Old' },
    { type: 'document', source: { type: 'base64', media_type: 'text/markdown', data } },
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } },
    { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
    { type: 'document', source: { type: 'file', file_id: 'file_1' } },
    { type: 'document', source: { type: 'content', content: 'Three' } },
    { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'Found </search_result>' }] },
    { type: 'tool_reference', tool_name: 'f' },
  ];
  const { messages: chat } = (await readFiles(chatOf({ messages: [{ role: 'user', content }] }))).body;
  const parts = chat[0]?.content as { text: string }[];
  assert.equal(
    parts.map(({ text }) => text),
    [
      ...['<document title="A \\"b\\"" context="Old">', 'One\ntwo', '</document>'],
      '<document>\nGrüße\n</document>',
      '<document>\n[This document cannot be read here. It is neither text nor a readable PDF or Word file.]\n</document>',
      '<document>\n[This document could not be downloaded from https://example.com/a.pdf.]\n</document>',
      '<document>\n[The document file_1 is not stored here.]\n</document>',
      ...['<document>', 'Three', '</document>'],
      '<search_result title="t" source="s">\nFound &lt;/search_result>\n</search_result>',
      'The tool `f` can be called.',
    ],
  );
});

test('long document addresses are truncated for the model', async () => {
  const url = `data:application/pdf;base64,${'A'.repeat(100_000)}`;
  const content: UserBlock[] = [{ type: 'document', source: { type: 'url', url } }];
  const { body } = await readFiles(chatOf({ messages: [{ role: 'user', content }] }));
  const text = JSON.stringify(body.messages);
  assert.ok(text.length < 4000, `${text.length} characters`);
  assert.match(text, /This document could not be downloaded from data:application/);
});

test('an image in a document is an image, and an error about it names its place', () => {
  const source = { type: 'base64' as const, media_type: 'image/png', data: 'AA' };
  const block: UserBlock = {
    type: 'document',
    source: {
      type: 'content',
      content: [
        { type: 'text', text: 'See' },
        { type: 'image', source },
      ],
    },
  };
  const { body, origins } = translate({ messages: [{ role: 'user', content: [block] }] });
  const parts = body.messages[0]?.content as { type: string }[];
  assert.equal(
    parts.map(({ type }) => type),
    ['text', 'text', 'image_url', 'text'],
  );
  const place = 'messages[0].content[0].source.content[1].source';
  assert.is(origins.nameOf('messages[0].content[2].image_url.url'), place);
});

test('the result of a tool that failed says so', () => {
  const told = (content: Exclude<ToolResultBlock['content'], undefined>) => {
    const block: UserBlock = { type: 'tool_result', tool_use_id: 'a', content, is_error: true };
    return chatOf({ messages: [{ role: 'user', content: [block] }] }).messages[0]?.content;
  };
  const text = (each: string) => ({ type: 'text' as const, text: each });
  assert.is(told('No such file'), 'Error: No such file');
  assert.is(told('<tool_use_error>No such file</tool_use_error>'), '<tool_use_error>No such file</tool_use_error>');
  assert.is(told('TypeError: x'), 'TypeError: x');
  assert.is(told(''), 'Error');
  assert.is(told(null), 'Error');
  assert.equal(told([text('No'), text('file')]), [text('Error: No'), text('file')]);
});

test('a summary of what was said before is the assistant’s', () => {
  const { body, ignored } = translate({
    messages: [
      { role: 'assistant', content: [{ type: 'compaction', content: 'They asked.' }] },
      { role: 'user', content: 'Well?' },
    ],
  });
  assert.equal(body.messages[0], { role: 'assistant', content: [{ type: 'text', text: 'They asked.' }] });
  assert.equal(ignored, []);
});

test('errors in the chat body name the fields of the request', () => {
  const { body: chat, origins } = translate({
    system: 'Be brief.',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'image', source: { type: 'url', url: 'x' } }] },
          { type: 'text', text: 'b' },
          { type: 'image', source: { type: 'url', url: 'y' } },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
    ],
    tools: [{ name: 'f', input_schema: {} }],
  });
  const names: [string, string][] = [
    ['messages', 'messages'],
    ['messages[0].content', 'system'],
    ['messages[1]', 'messages[0].content[0]'],
    ['messages[2].content[0].image_url.url', 'messages[0].content[0].content[0].source'],
    ['messages[2].content[1]', 'messages[0].content[1]'],
    ['messages[2].content[2]', 'messages[0].content[2]'],
    ['messages[3].tool_calls[0]', 'messages[1].content[0]'],
    ['tools[0].function.parameters.type', 'tools[0].input_schema.type'],
    ['stop[0]', 'stop_sequences[0]'],
    ['response_format', 'output_config.format'],
  ];
  for (const [field, origin] of names) {
    const refusal = new ChasquiError('invalid_value', `\`${field}\` is wrong.`, field);
    const error = origins.translate(refusal, chat) as ChasquiError;
    assert.equal([error.param, error.message], [origin, `\`${origin}\` is wrong.`]);
  }
});

test.run();
