/** Grammars and schemas that cost more than they look. */
import { ANSWERED, chat, type Entry, REFUSED } from './entry.js';

/** `root ::= a0`, where each of so many rules refers to the next one `times` times. */
function chain(rules: number, times: number): string {
  const lines = Array.from({ length: rules }, (_, i) => `a${i} ::= ${`a${i + 1} `.repeat(times)}`);
  return ['root ::= a0', ...lines, `a${rules} ::= "x"`].join('\n');
}

function schema(value: object): object {
  return { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: value } } };
}

function properties(count: number, of: object): Record<string, object> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, of]));
}

/** Two objects that share their first property, which is one of them again. */
function twins(): object {
  const twin = (other: string) => ({
    type: 'object',
    properties: { a: { $ref: '#/$defs/n' }, [other]: { type: 'string' } },
    required: ['a', other],
    additionalProperties: false,
  });
  return { $ref: '#/$defs/n', $defs: { n: { anyOf: [twin('b'), twin('c')] } } };
}

function references(count: number): object {
  const link = (i: number) => [`d${i}`, i + 1 === count ? { type: 'string' } : { $ref: `#/$defs/d${i + 1}` }];
  return { $ref: '#/$defs/d0', $defs: Object.fromEntries(Array.from({ length: count }, (_, i) => link(i))) };
}

/** Each definition is a list of two of the next. */
function doubling(count: number): object {
  const pair = (i: number) => ({ type: 'array', prefixItems: [1, 2].map(() => ({ $ref: `#/$defs/d${i}` })) });
  const link = (i: number) => [`d${i}`, i + 1 === count ? { type: 'string' } : pair(i + 1)];
  return { $ref: '#/$defs/d0', $defs: Object.fromEntries(Array.from({ length: count }, (_, i) => link(i))) };
}

const words = (count: number) => Array.from({ length: count }, (_, i) => `value number ${i}`);
const itself = { allOf: [{ $ref: '#/$defs/a' }], $defs: { a: { $ref: '#/$defs/a' } } };
const named = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string' } } });
const weak = (property: unknown) => schema({ type: 'object', properties: { v: property }, required: ['v'] });
const tool = (parameters: object) => ({ tools: [{ type: 'function', function: { name: 'f', parameters } }] });

/** Custom tools with regular-expression inputs; the model must call one of them. */
const customTools = (count: number, definition: string) => ({
  tool_choice: 'required',
  tools: Array.from({ length: count }, (_, i) => ({
    type: 'custom',
    custom: { name: `t${i}`, format: { type: 'grammar', grammar: { syntax: 'regex', definition } } },
  })),
});

/** Of grammars in GBNF. */
export const GRAMMARS: readonly Entry[] = [
  chat('an ambiguous grammar', { grammar: 'root ::= s\ns ::= [a-z] s "y" | [a-z] s "z" | "#"' }),
  chat('repetitions of repetitions', { grammar: 'root ::= (("a"{0,9} | "b"{1,9}){2,9} [c-d]{0,9}){0,9}' }),
  chat('an ambiguous run of blanks', { grammar: `root ::= ${'" "* '.repeat(200)}"x"`, max_tokens: 20 }),
  chat('a repetition the wrong way round', { grammar: 'root ::= "a"{2,1}' }, REFUSED),
  chat('a repetition without end', { grammar: 'root ::= "a"{1000000000}' }, REFUSED),
  chat('a thousand thousands', { grammar: 'root ::= ("a"{1,999} "b"){1,999}' }),
  chat('rules that are empty through others', { grammar: 'root ::= "a" z\nz ::= n z\nn ::= m\nm ::= ""' }, REFUSED),
  chat('left recursion behind an empty rule', { grammar: 'root ::= b root "x" | "y"\nb ::= c\nc ::= ""' }, REFUSED),
  chat(
    'parentheses behind a comment that a carriage return ends',
    () => ({
      grammar: `root ::= #\r${'('.repeat(200_000)}`,
    }),
    REFUSED,
  ),
  chat('parentheses', () => ({ grammar: `root ::= ${'('.repeat(200_000)}"a"${')'.repeat(200_000)}` }), REFUSED),
  chat('forty rules that refer twice to the next', () => ({ grammar: chain(40, 2) })),
  chat('a chain of fifty thousand rules', () => ({ grammar: chain(50_000, 1) })),
  chat('a literal of three million characters', () => ({ grammar: `root ::= "${'a'.repeat(3_000_000)}"` })),
  chat('a set of two hundred thousand ranges', () => ({ grammar: `root ::= [${'a-z'.repeat(200_000)}]+` })),
  chat('fifty thousand alternatives', () => ({
    grammar: `root ::= ${words(50_000)
      .map((w) => `"${w}"`)
      .join(' | ')}`,
  })),
  chat(
    'a grammar that is no UTF-8 and no grammar',
    { grammar: 'root ::= "\u{1F600}\\xZZ\\U0011FFFF" [\ud800]' },
    REFUSED,
  ),
];

/** Inputs of custom tools. */
export const INPUTS: readonly Entry[] = [
  chat('custom tools whose input may be empty at three hundred places', () =>
    customTools(70, `(?:${'\\D?\\D?'.repeat(150)})*`),
  ),
  chat('twenty thousand custom tools of one letter', () => customTools(20_000, 'a')),
];

/** Of JSON schemas. */
export const SCHEMAS: readonly Entry[] = [
  chat('two objects that begin alike, again and again', schema(twins())),
  chat('a string that must be longer than it may be', schema({ type: 'string', minLength: 5, maxLength: 2 })),
  chat('a list that must be longer than it may be', schema({ type: 'array', items: {}, minItems: 3, maxItems: 1 })),
  chat('a pattern the wrong way round', schema({ type: 'string', pattern: '^a{3,1}$' })),
  chat('a pattern within patterns', schema({ type: 'string', pattern: '^(((a{1,99}){1,99}){1,99})$' })),
  chat('a pattern of many groups', () => schema({ type: 'string', pattern: `^${'('.repeat(50_000)}$` })),
  chat('a definition that is itself', schema(itself)),
  chat('a reference to the schema as a whole', schema({ $ref: '#' }), ANSWERED),
  chat('a million characters at least', schema({ type: 'string', minLength: 1_000_000 })),
  chat('a thousand million items', schema({ type: 'array', items: { type: 'null' }, minItems: 1_000_000_000 })),
  chat('a number of three hundred digits', schema({ type: 'integer', minimum: -1e300, maximum: 1e300 })),
  chat('two thousand optional properties', () => schema({ type: 'object', properties: properties(2000, {}) })),
  chat("a property's name of a hundred thousand characters", () => schema(named('a'.repeat(100_000)))),
  chat('such a name beside properties of any name', () =>
    schema({ ...named('a'.repeat(100_000)), additionalProperties: { type: 'string' } }),
  ),
  chat('a chain of ten thousand references', () => schema(references(10_000))),
  chat('definitions that refer twice to the next', () => schema(doubling(40))),
  chat('twenty thousand values', () => schema({ enum: words(20_000) })),
  chat('twenty thousand values that differ at their ends', () =>
    schema({ enum: words(20_000).map((word) => `${'x'.repeat(4)} ${word}`) }),
  ),
  chat('a constant of a hundred thousand lists', () => schema({ const: Array.from({ length: 100_000 }, () => []) })),
  chat('a schema nested sixty levels deep', () => {
    let nested: object = { type: 'string' };
    for (let level = 0; level < 30; level++) nested = { type: 'array', items: nested };
    return schema(nested);
  }),
  {
    ...chat('patterns that are passed over', () =>
      schema({ type: 'object', properties: properties(3000, { type: 'string', pattern: `^(?=${'a'.repeat(80)})$` }) }),
    ),
    quiet: true,
  },
  chat('any value as a property', weak(true), ANSWERED),
  chat('no value as a list of values', weak({ enum: [] }), ANSWERED),
  chat('a keyword of the wrong type', weak({ type: 'string', minLength: '5' })),
  chat('a tool with such a schema', tool(itself)),
  chat('a tool with two thousand optional properties', () =>
    tool({ type: 'object', properties: properties(2000, { type: 'string' }) }),
  ),
];
