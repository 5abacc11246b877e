// Replies in the formats of real templates, whole and streamed: reasoning, content and calls.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '../../ts/api/app.js';
import { loadModel } from '../../ts/index.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { root } from '../support/places.js';
import { readSse } from '../support/read-sse.js';
import { writeReplyModel } from '../support/reply-model.js';

const test = suite('model: forms of replies');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-replies-'));
test.after(() => fs.rmSync(folder, { recursive: true, force: true }));

const OSS = 'openai-gpt-oss-120b';
const QWEN = 'Qwen-Qwen2.5-7B-Instruct';
const LLAMA = 'meta-llama-Llama-3.1-8B-Instruct';
const parameters = { type: 'object', properties: { action: { type: 'string' } }, required: ['action'] };
const tools = { tools: [{ type: 'function', function: { name: 'f', parameters } }] };

interface Said {
  reasoning?: string;
  content?: string;
  /** Arguments of calls of `f`. */
  calls?: object[];
  reason: string;
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of replies
type Body = any;
type Use = (ask: (body?: object) => Promise<Body>) => Promise<void>;

async function withReply(template: string, specials: readonly string[], text: string, body: object, use: Use) {
  const file = path.join(folder, 'm.gguf');
  const source = fs.readFileSync(path.join(root, 'vendor/llama.cpp/models/templates', `${template}.jinja`), 'utf8');
  const write = (promptLength: number) => writeReplyModel(file, { template: source, specials, text, promptLength });
  const open = async (useIt: Use) => {
    const engine = await loadModel(file, { contextSize: 8192, parallel: 1, threads: 1 });
    const app = buildApp(ManagedPool.of(engine), runtime);
    await useIt(async (more = {}) => {
      const messages = [{ role: 'user', content: 'Hi' }];
      const payload = { model: 'm', messages, temperature: 0, max_tokens: 400, ...body, ...more };
      const reply = await app.inject({ method: 'POST', url: '/v1/chat/completions', payload });
      assert.is(reply.statusCode, 200, reply.body);
      return reply.body.startsWith('{') ? JSON.parse(reply.body) : reply.body;
    });
    await app.close();
    await engine.close();
  };
  const key = JSON.stringify([template, specials, body]);
  if (!lengths.has(key)) {
    write(1);
    await open(async (ask) => {
      lengths.set(key, (await ask({ max_tokens: 1, stop: undefined })).usage.prompt_tokens);
    });
  }
  write(lengths.get(key) as number);
  await open(use);
}

/** Of prompts, by template and body. */
const lengths = new Map<string, number>();

function saidIn({ choices: [{ message, finish_reason: reason }] }: Body): Said {
  const calls = message.tool_calls?.map((call: Body) => call.function);
  return tidy(message.reasoning_content, message.content, calls, reason);
}

function saidInStream(stream: string): Said {
  const choices = readSse(stream).events.flatMap((event) => event.choices);
  const joined = (of: (delta: Body) => string | null | undefined) =>
    choices.map(({ delta }) => of(delta) ?? '').join('');
  const calls: { name: string; arguments: string }[] = [];
  for (const { index, function: part } of choices.flatMap(({ delta }) => delta.tool_calls ?? [])) {
    calls[index] ??= { name: '', arguments: '' };
    calls[index].name += part.name ?? '';
    calls[index].arguments += part.arguments ?? '';
  }
  const reason = choices.map((choice) => choice.finish_reason).find(Boolean);
  return tidy(
    joined((delta) => delta.reasoning_content),
    joined((delta) => delta.content),
    calls,
    reason,
  );
}

function tidy(reasoning: string, content: string, calls: { name: string; arguments: string }[], reason: string): Said {
  for (const call of calls ?? []) assert.is(call.name, 'f');
  const said = {
    ...(reasoning && { reasoning }),
    ...(content && { content }),
    ...(calls?.length && { calls: calls.map((call) => readArguments(call.arguments)) }),
    reason,
  };
  return said as Said;
}

const readArguments = (json: string) => {
  try {
    return JSON.parse(json);
  } catch {
    return `not JSON: ${json}`;
  }
};

const HARMONY = ['<|start|>', '<|end|>', '<|channel|>', '<|message|>', '<|constrain|>', '<|call|>', '<|return|>'];
const json = '{"action":"x"}';
const x = { calls: [{ action: 'x' }], reason: 'tool_calls' };
const c = { content: 'C', reason: 'stop' };

const OSS_REPLIES: [text: string, said: Said][] = [
  [
    '<|channel|>analysis<|message|>R<|end|><|start|>assistant<|channel|>final<|message|>C<|return|>',
    { reasoning: 'R', ...c },
  ],
  [`<|channel|>commentary to=functions.f<|message|>${json}<|call|>`, x],
  [` to=functions.f<|channel|>commentary <|constrain|>json<|message|>${json}<|call|>`, x],
  [`<|channel|>analysis to=functions.f <|constrain|>json<|message|>${json}<|call|>`, x],
  [
    `<|channel|>analysis<|message|>R<|end|><|start|>assistant to=functions.f<|channel|>commentary<|constrain|>json<|message|>${json}<|call|>`,
    { reasoning: 'R', ...x },
  ],
  [
    `<|channel|>commentary<|message|>P<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>${json}<|call|>`,
    { content: 'P', ...x },
  ],
  [`<|channel|>final<|constrain|>json<|message|>${json}<|return|>`, { content: json, reason: 'stop' }],
  [`<|channel|>final json<|message|>${json}<|return|>`, { content: json, reason: 'stop' }],
  [`<|channel|>final <|constrain|>JSON schema<|message|>${json}<|return|>`, { content: json, reason: 'stop' }],
  ['<|channel|>final code<|message|>C<|return|>', c],
  [
    '<|channel|>analysis<|message|>R<|end|><|start|>assistant<|channel|>analysis<|message|>S<|end|><|start|>assistant<|channel|>final<|message|>C<|return|>',
    { reasoning: 'RS', ...c },
  ],
  [
    '<|channel|>commentary<|message|>P<|end|><|start|>assistant<|channel|>final<|message|>C<|return|>',
    { content: 'PC', reason: 'stop' },
  ],
  ['<|message|>C<|return|>', c],
  ['<|channel|>final<|message|>C<|end|>', c],
  ['<|start|>assistant<|channel|>final<|message|>C<|return|>', c],
  ['<|channel|>commentary 2?<|message|>C<|return|>', c],
  ['<|channel|>analysis<|message|><|end|><|start|>assistant<|channel|>final<|message|>C<|return|>', c],
  [
    '<|channel|>analysis<|message|>R<|end|><|start|>assistant<|channel|>final<|message|><|return|>',
    { reasoning: 'R', reason: 'stop' },
  ],
  ['<|channel|>commentary to=browser.search code<|message|>C<|call|>', c],
  [`<|channel|>commentary to=f <|constrain|>json<|message|>${json}<|call|>`, { content: json, reason: 'stop' }],
  [
    `<|channel|>commentary to=functions.f <|constrain|>json<|message|>${json}<|call|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"action":"y"}<|call|>`,
    x,
  ],
];

const TAGS = [
  '<think> </think>',
  '<thinking> </thinking>',
  '<thought> </thought>',
  '<reasoning> </reasoning>',
  '[THINK] [/THINK]',
  '<seed:think> </seed:think>',
  '<reason> </reason>',
  '<mm:think> </mm:think>',
  '<|START_THINKING|> <|END_THINKING|>',
  '<longcat_think> </longcat_think>',
  '◁think▷ ◁/think▷',
  '<|begin_of_thought|> <|end_of_thought|>',
];
const HERMES = ['<think>', '</think>', '<tool_call>', '</tool_call>'];
const hermes = (action: string) =>
  `<tool_call>\n{"name": "f", "arguments": {"action": ${JSON.stringify(action)}}}\n</tool_call>`;

/** Calls with `a END b`, with the special tokens of the format. */
const CALLS: Record<string, [text: string, specials: string[]]> = {
  [QWEN]: [hermes('a END b'), HERMES],
  'Qwen3-Coder': [
    '<tool_call>\n<function=f>\n<parameter=action>\na END b\n</parameter>\n</function>\n</tool_call>',
    HERMES,
  ],
  'Qwen3.5-4B': [
    '</think>\n\n<tool_call>\n<function=f>\n<parameter=action>\na END b\n</parameter>\n</function>\n</tool_call>',
    HERMES,
  ],
  'GLM-4.6': [
    '<think></think>\n<tool_call>f\n<arg_key>action</arg_key>\n<arg_value>a END b</arg_value>\n</tool_call>',
    [...HERMES, '<arg_key>', '</arg_key>', '<arg_value>', '</arg_value>'],
  ],
  'LFM2-8B-A1B': [
    '<|tool_call_start|>[f(action="a END b")]<|tool_call_end|>',
    ['<|tool_call_start|>', '<|tool_call_end|>'],
  ],
  [LLAMA]: ['{"name": "f", "parameters": {"action": "a END b"}}', []],
  'meta-llama-Llama-3.2-3B-Instruct': ['\n{ "name": "f", "parameters": {"action": "a END b"} }', []],
  'mistralai-Mistral-Nemo-Instruct-2407': [
    '[TOOL_CALLS][{"name": "f", "arguments": {"action": "a END b"}, "id": "abcdefgh1"}]',
    ['[TOOL_CALLS]'],
  ],
  'moonshotai-Kimi-K2': [
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"action": "a END b"}<|tool_call_end|><|tool_calls_section_end|>',
    [
      '<|tool_calls_section_begin|>',
      '<|tool_call_begin|>',
      '<|tool_call_argument_begin|>',
      '<|tool_call_end|>',
      '<|tool_calls_section_end|>',
    ],
  ],
  'MiniMax-M2': [
    '</think>\n\n<minimax:tool_call>\n<invoke name="f">\n<parameter name="action">a END b</parameter>\n</invoke>\n</minimax:tool_call>',
    ['</think>', '<minimax:tool_call>', '</minimax:tool_call>'],
  ],
  'ByteDance-Seed-OSS': [
    '<seed:tool_call>\n<function=f>\n<parameter=action>a END b</parameter>\n</function>\n</seed:tool_call>',
    ['<seed:tool_call>', '</seed:tool_call>', '<seed:think>', '</seed:think>'],
  ],
  [OSS]: ['<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"action": "a END b"}<|call|>', HARMONY],
};

type Row = [name: string, template: string, specials: string[], text: string, body: object, said: Said];
const rows: Row[] = [
  ...OSS_REPLIES.map(([text, said], i): Row => [`gpt-oss ${i}`, OSS, HARMONY, text, tools, said]),
  ...TAGS.flatMap((tags): Row[] => {
    const [start = '', end = ''] = tags.split(' ');
    const said = { reasoning: 'R STOP\n', content: 'C ', reason: 'stop' };
    const text = `${start}\nR STOP\n${end}\n\nC STOP d`;
    return [
      [`tags ${tags}`, QWEN, [], text, { stop: ['STOP'] }, said],
      [`control ${tags}`, QWEN, [start, end], text, { stop: ['STOP'] }, said],
    ];
  }),
  [
    'tags in the middle',
    QWEN,
    [],
    'So <think> is a tag, </think> too',
    {},
    { content: 'So <think> is a tag, </think> too', reason: 'stop' },
  ],
  ['empty tags', QWEN, HERMES, '<think>\n\n</think>\n\nC', {}, c],
  ['unclosed tags', QWEN, HERMES, '<think>\nR', {}, { reasoning: 'R', reason: 'stop' }],
  ['tags and a call', QWEN, HERMES, `<think>R</think>\n${hermes('x')}`, tools, { reasoning: 'R', ...x }],
  ['a closing tag alone', QWEN, HERMES, 'R\n</think>\n\nC', {}, { content: 'R\n</think>\n\nC', reason: 'stop' }],
  [
    'tags twice',
    QWEN,
    HERMES,
    '<think>R</think>C<think>S</think>D',
    {},
    { reasoning: 'R', content: 'C<think>S</think>D', reason: 'stop' },
  ],
  ...['END', '}', '\n', '</tool_call>', '"', '{"name"', 'f', 'action'].map(
    (stop): Row => [
      `stop ${JSON.stringify(stop)} in a call`,
      QWEN,
      HERMES,
      hermes('x END }\n"'),
      { ...tools, stop: [stop] },
      { calls: [{ action: 'x END }\n"' }], reason: 'tool_calls' },
    ],
  ),
  [
    'a stop string before a call',
    QWEN,
    HERMES,
    `One END two ${hermes('x')}`,
    { ...tools, stop: ['END'] },
    { content: 'One ', reason: 'stop' },
  ],
  [
    'brackets before a call',
    QWEN,
    HERMES,
    `${'if (a) { b[(0'.repeat(20)}\n${hermes('x')}`,
    tools,
    { content: 'if (a) { b[(0'.repeat(20), ...x },
  ],
  ...Object.entries(CALLS).map(
    ([template, [text, specials]]): Row => [
      `a stop string in a call of ${template}`,
      template,
      specials,
      text,
      { ...tools, stop: ['END'] },
      { calls: [{ action: 'a END b' }], reason: 'tool_calls' },
    ],
  ),
  [
    'JSON that is no call',
    LLAMA,
    [],
    '{"name": "g", "parameters": {"action": "x"}} STOP',
    { ...tools, stop: [' STOP'] },
    { content: '{"name": "g", "parameters": {"action": "x"}}', reason: 'stop' },
  ],
];

for (const [name, template, specials, text, body, said] of rows) {
  test(name, async () => {
    await withReply(template, specials, text, body, async (ask) => {
      const given = saidIn(await ask());
      assert.equal(given, said);
      assert.equal(saidInStream(await ask({ stream: true })), given, 'streamed');
    });
  });
}

test.run();
