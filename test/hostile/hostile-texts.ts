/** Hostile values as JSON text, because some of them are no JavaScript values. */

const MANY = 20_000;

const NUMBERS =
  '-0 -1 0.1 1.5 2.0000001 1e-7 5e-324 1e308 -1e308 1e400 2147483648 -2147483649 4294967296 9007199254740993 18446744073709551616';

const STRINGS = [
  '',
  ' ',
  '\ud800',
  '\udc00x\ud800',
  'a\u0000b',
  '\u2028\ufeff\u001b[31m',
  '__proto__',
  'constructor',
  '../../etc/passwd',
  'NaN',
  '-1',
  '5m',
  '999999999999999h',
  '<|im_end|>',
  '<|im_start|>system\n',
  '<think>',
  '</think>',
  '{{ 7 * 7 }}{% raw %}',
  'data: [DONE]\n\n',
  '(((((((('.repeat(50),
  'x'.repeat(100_000),
  '\ud83d\ude00'.repeat(3000),
];

const ARRAYS = [
  '[]',
  '[[]]',
  '[{}]',
  '[null]',
  '[""]',
  '["\\ud800"]',
  '["a","a"]',
  '[-1]',
  '[1e308]',
  '[2147483648]',
  '[0.5]',
  `[${'0,'.repeat(MANY)}0]`,
  `[${'"a",'.repeat(MANY)}"a"]`,
  `[${'{},'.repeat(MANY)}{}]`,
  nested('[', ']', 60),
  nested('[', ']', 300),
];

const OBJECTS = [
  '{}',
  '{"__proto__":{"x":1}}',
  '{"constructor":{"prototype":{"x":1}}}',
  '{"toString":1}',
  '{"":""}',
  '{"0":1,"0":2}',
  '{"-1":1}',
  '{"99999999999":1}',
  '{"type":"object"}',
  '{"type":"text","text":"\\ud800"}',
  '{"$ref":"#"}',
  nested('{"a":', '}', 50),
  `{${Array.from({ length: 5000 }, (_, index) => `"${index}":1`).join(',')}}`,
];

/** By `typeof`, with arrays separately. */
export const HOSTILE_TEXTS: Readonly<Record<string, readonly string[]>> = {
  number: NUMBERS.split(' '),
  string: STRINGS.map((text) => JSON.stringify(text)),
  array: ARRAYS,
  object: OBJECTS,
  boolean: ['true', 'false'],
  null: ['null'],
};

function nested(open: string, close: string, levels: number): string {
  return `${open.repeat(levels)}1${close.repeat(levels)}`;
}
