/** Expensive preparation: texts, templates, choices, inputs. */
import { ANSWERED, chat, type Entry, REFUSED, type Sender, worst } from './entry.js';
import type { Exchange } from './send.js';

const RUN = 100_000;

/** Texts that pre-tokenizers take in one piece. */
export const RUNS: readonly [name: string, text: string][] = [
  ['letters', 'a'.repeat(RUN)],
  ['capitals', 'A'.repeat(RUN)],
  ['blanks', ' '.repeat(RUN)],
  ['equals signs', '='.repeat(RUN)],
  ['digits', '7'.repeat(RUN)],
  ['line ends', '\n'.repeat(RUN)],
  ['letters of another script', 'ж'.repeat(RUN)],
  ['marks', `e${'\u0301'.repeat(RUN)}`],
  ['pictures of llamas', '🦙'.repeat(RUN / 2)],
  ['syllables', '가나'.repeat(RUN / 2)],
];

export const TOKENIZED_RUNS: readonly Entry[] = RUNS.map(([name, text]) => ({
  name: `a run of ${name}, tokenized`,
  send: (sender) => sender.post('/tokenize', { content: text }),
}));

/** Texts with special tokens read in them, too long for the context. */
export const RUNS_IN_MESSAGES: readonly Entry[] = RUNS.map(([name, text]) =>
  chat(`a run of ${name} in a message`, { messages: [{ role: 'user', content: text }] }),
);

const slowGrammar = (i: number) =>
  `root ::= "${i}"\n${Array.from({ length: 30_000 }, (_, n) => `r${n} ::= "a" r${n + 1}?`).join('\n')}\nr30000 ::= "b"`;

function together(count: number, ask: (index: number) => Promise<Exchange>): Promise<Exchange> {
  return Promise.all(Array.from({ length: count }, (_, index) => ask(index))).then(worst);
}

async function slowOnesAndAQuickOne(sender: Sender): Promise<Exchange> {
  const slow = Array.from({ length: 8 }, (_, i) => sender.chat({ grammar: slowGrammar(i), max_tokens: 1 }));
  await new Promise((resolve) => setTimeout(resolve, 100));
  const quick = await sender.chat({ grammar: 'root ::= "yes"' });
  return worst([quick, ...(await Promise.all(slow))]);
}

const call = (argument: string) => ({
  messages: [
    { role: 'user', content: 'Go on.' },
    { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: argument } }] },
    { role: 'tool', tool_call_id: 'a', content: '1' },
  ],
});

/** A body with such a text wherever a conversation may have one, but where the completion would have to spell it. */
const halfCharacters = (half: string) => ({
  messages: [
    { role: 'system', content: half },
    { role: 'user', content: [{ type: 'text', text: half }] },
    {
      role: 'assistant',
      reasoning_content: half,
      tool_calls: [{ id: half, type: 'function', function: { name: 'f', arguments: JSON.stringify({ a: half }) } }],
    },
    { role: 'tool', tool_call_id: half, content: half },
  ],
  tools: [{ type: 'function', function: { name: 'f', description: half, parameters: { description: half } } }],
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { description: half, enum: ['x'] } } },
  chat_template_kwargs: { [half]: half },
});

export const PREPARING: readonly Entry[] = [
  { name: 'eight slow grammars, and a quick one behind them', send: slowOnesAndAQuickOne },
  ...['messages', 'tools', 'add_generation_prompt', 'bos_token'].map((name) =>
    chat(`a template variable named ${name}`, { chat_template_kwargs: { [name]: [{ role: 'user', content: 1 }] } }),
  ),
  chat('messages behind the validation', { chat_template_kwargs: { messages: 'x'.repeat(100) } }, REFUSED),
  {
    name: 'template variables nested deeply',
    send: ({ post }) => {
      const kwargs = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`;
      const messages = '[{"role":"user","content":"Go on."}]';
      return post('/v1/chat/completions', `{"model":"m","messages":${messages},"chat_template_kwargs":${kwargs}}`);
    },
    statuses: REFUSED,
  },
  chat('a template variable that is no number of an integer', { chat_template_kwargs: { a: 1e300, b: -1e300 } }),
  chat('a hundred thousand empty messages', () => ({
    messages: Array.from({ length: 100_000 }, () => ({ role: 'user', content: '' })),
  })),
  chat('128 choices of a long prompt with a grammar', () => ({
    n: 128,
    max_tokens: 1,
    messages: [{ role: 'user', content: 'The sea is wide. '.repeat(100) }],
    grammar: slowGrammar(0),
  })),
  chat('biases of one token under many names', () => ({
    logit_bias: Object.fromEntries(
      Array.from({ length: 200_000 }, (_, i) => [`${i % 1000}`.padStart(1 + (Math.floor(i / 1000) % 9), '0'), 1]),
    ),
  })),
  chat('one bias under three names', { logit_bias: { 1: 1, '01': 2, '001': 3 } }, REFUSED),
  chat('arguments of escaped quotes', () => call(`{"a":"${'\\"'.repeat(48_000)}`)),
  chat('arguments of a million escaped quotes', () => call(`{"a":"${'\\"'.repeat(500_000)}`)),
  chat('arguments nested deeply', () => call('['.repeat(100_000))),
  chat('ten thousand tools', () => ({
    tools: Array.from({ length: 10_000 }, (_, i) => ({ type: 'function', function: { name: `f${i}` } })),
  })),
  chat(
    'a text of half characters',
    { messages: [{ role: 'user', content: '\ud800\udc00\ud800 \u0000\u2028' }] },
    ANSWERED,
  ),
  chat('half characters in a tool, in its call and in a schema', () => halfCharacters('x\ud800'), ANSWERED),
  chat('numbers beyond all bounds', { max_tokens: 1e308 }),
  chat('a seed beyond all bounds', { seed: 1e300 }),
  {
    name: 'sixty-four requests at once that share nothing',
    send: (sender) =>
      together(64, (i) => sender.chat({ messages: [{ role: 'user', content: `${i} `.repeat(50) }], max_tokens: 5 })),
  },
];
