// Random texts of a schema's grammar are values that the schema allows, according to Ajv. CHASQUI_WALKS sets the number of texts
// for each schema, 300 by default. CHASQUI_SCHEMA_SUITE is a checkout of github.com/json-schema-org/JSON-Schema-Test-Suite. Its
// schemas of draft 2020-12 are then tested as well.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { domainToASCII } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildTarget } from '../support/cxx-tests.js';
import { GbnfTexts } from '../support/gbnf-texts.js';
import { root } from '../support/places.js';
import { seededRandom } from '../support/seeded-random.js';
import { WALKED_SCHEMAS } from '../support/walked-schemas.js';

const WALKS = Number(process.env.CHASQUI_WALKS ?? 300);

interface Converted {
  gbnf?: string;
  unenforced?: string[];
  error?: string;
}

function convert(schemas: readonly unknown[]): Converted[] {
  const program = path.join(root, 'build', 'Release', 'schema-grammars');
  const input = schemas.map((schema) => `${JSON.stringify(schema)}\n`).join('');
  const { stdout, status, stderr } = spawnSync(program, { input, encoding: 'utf8', maxBuffer: 1 << 29 });
  assert.is(status, 0, stderr);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const isDate = (date: string) => new Date(`${date}T00:00Z`).toJSON()?.startsWith(date) ?? false;
const TIME = /^([01]\d|2[0-3])(:[0-5]\d){2}(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
const LABELS = /^(?!.{254})[a-z\d]([a-z\d-]{0,61}[a-z\d])?(\.[a-z\d]([a-z\d-]{0,61}[a-z\d])?)*$/i;
/** RFC 3986, appendix B. RFC 3987 adds characters beyond ASCII. */
const URI_PARTS = /^(?:([^:/?#]+):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s;
const isUri = (isWide: boolean, isReference: boolean) => (text: string) => {
  const [, scheme, authority, path = '', ...others] = URI_PARTS.exec(text) ?? [];
  const wide = isWide
    ? '\\u00A0-\\u200D\\u2010-\\u2029\\u202F-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF\\u{10000}-\\u{EFFFD}'
    : '';
  const only = (more: string) => new RegExp(`^([\\w.~!$&'()*+,;=${more}${wide}-]|%[\\dA-F]{2})*$`, 'iu');
  const host = authority?.replace(/^[^@]*@/, '').replace(/:\d*$/, '') ?? '';
  return (
    (scheme === undefined ? isReference : /^[a-z][a-z\d+.-]*$/i.test(scheme)) &&
    only(':@').test(authority?.slice(0, authority.lastIndexOf('@') + 1) ?? '') &&
    (only('').test(host) || URL.canParse(`http://${host}/`)) &&
    only(':@/').test(path) &&
    others.every((part = '') => only(':@/?').test(part))
  );
};
const isIdnHostname = (text: string) => {
  // With a last label that is no number: the host is no IPv4 address.
  const ascii = domainToASCII(`${text}.a`);
  return LABELS.test(ascii) && text.split('.').every((label) => !/^..--/.test(label));
};
const isRegExp = (text: string) => {
  try {
    return new RegExp(text, 'u') !== null;
  } catch {
    return false;
  }
};
const FORMATS = {
  date: isDate,
  time: TIME,
  'date-time': (text: string) => isDate(text.slice(0, 10)) && text[10] === 'T' && TIME.test(text.slice(11)),
  duration: /^P(?!$)((\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+S)?)?|\d+W)$/,
  email: (text: string) =>
    /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*$/.test(text.split('@')[0] ?? '') &&
    LABELS.test(text.split('@')[1] ?? ''),
  hostname: LABELS,
  ipv4: /^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$/,
  ipv6: (text: string) => URL.canParse(`http://[${text}]/`),
  'idn-email': (text: string) => /^[^\s@]+@[^@]+\.[^@]+$/.test(text) && isIdnHostname(text.split('@')[1] ?? ''),
  'idn-hostname': isIdnHostname,
  uri: isUri(false, false),
  'uri-reference': isUri(false, true),
  iri: isUri(true, false),
  'iri-reference': isUri(true, true),
  'uri-template':
    /^([^\0- "'%<>\\^`{|}]|%[\dA-F]{2}|\{[+#./;?&]?(([\w.]|%[\dA-F]{2})+(:[1-9]\d{0,3}|\*)?(,(?!\})|(?=\})))+\})*$/i,
  'json-pointer': /^(\/([^~/]|~[01])*)*$/,
  'relative-json-pointer': /^(0|[1-9]\d*)(#|(\/([^~/]|~[01])*)*)$/,
  regex: isRegExp,
  uuid: /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i,
};

/** Within the rounding of doubles, which grows with the number. */
function isMultiple(of: number, value: number): boolean {
  const ratio = value / of;
  return Math.abs(ratio - Math.round(ratio)) <= 1e-6 + Math.abs(ratio) * 2 ** -50;
}

function validatorOf(schema: unknown, formats: boolean, documents: Record<string, object> = {}) {
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: formats,
    formats: FORMATS,
    logger: false,
  });
  ajv.removeKeyword('multipleOf');
  ajv.addKeyword({ keyword: 'multipleOf', type: 'number', validate: isMultiple });
  for (const [uri, document] of Object.entries(documents)) if (!ajv.getSchema(uri)) ajv.addSchema(document, uri);
  return ajv.compile(schema as object);
}

/** The first text that is wrong, null if all are right. */
function wrongText(gbnf: string, isValid: (value: unknown) => boolean): string | null {
  const random = seededRandom(1);
  const texts = new GbnfTexts(gbnf);
  for (let i = 0; i < WALKS; i++) {
    const text = texts.one('root', random);
    try {
      if (!isValid(JSON.parse(text))) return text;
    } catch {
      return text;
    }
  }
  return null;
}

const own = suite('llama: random texts of the grammars of schemas');

buildTarget('schema-grammars', 'build');
const converted = convert(Object.values(WALKED_SCHEMAS));
for (const [index, [name, schema]] of Object.entries(WALKED_SCHEMAS).entries()) {
  own(name, () => {
    const { gbnf, unenforced, error } = converted[index] as Converted;
    assert.is(error, undefined);
    assert.equal(unenforced, []);
    assert.is(wrongText(gbnf as string, validatorOf(schema, true)), null, JSON.stringify(schema));
  });
}

const REPORTED: [schema: object, places: string[]][] = [
  [
    { type: 'object', properties: { a: { contentEncoding: 'base64' }, 'b c': { format: 'color' } } },
    ['$.properties.a.contentEncoding', '$.properties.b c.format'],
  ],
  [{ anyOf: [s(), { type: 'array', uniqueItems: true }] }, ['$.anyOf[1].uniqueItems']],
  [{ type: 'array', not: { prefixItems: [{ format: 'date' }] } }, ['$.not.prefixItems[0]']],
  [{ $ref: '#' }, ['$.$ref']],
  [{ $ref: 'https://example.com/schema' }, ['$.$ref']],
  [{ $ref: '#/$defs/a', $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }, s()] } } }, ['$.$defs.a.anyOf']],
  [{ enum: [] }, ['$.enum']],
  [{ type: 'object', required: 'a' }, ['$.required']],
  [{ type: 'object', required: ['a', 5] }, ['$.required']],
  [{ type: 'string', minLength: 5000 }, ['$.minLength']],
  [{ type: 'number', minimum: 1e15 }, ['$.minimum']],
  [{ type: 'integer', multipleOf: 123457 }, ['$.multipleOf']],
  [{ type: 'object', minProperties: 3 }, ['$.minProperties']],
  [{ type: 'string', not: { format: 'date' } }, ['$.not']],
  [{ patternProperties: { '(?=a)': {} } }, ['$.patternProperties.(?=a)']],
  ...[
    '^(?=a)$',
    '(a)\\1',
    '^a{3000}$',
    '^[]a]$',
    '^a]$',
    '^a{x}$',
    '\\p{Script=Greek}',
    `^${'('.repeat(101)}a${')'.repeat(101)}$`,
  ].map((pattern): [object, string[]] => [{ type: 'string', pattern }, ['$.pattern']]),
];

function s() {
  return { type: 'string' };
}

own('what cannot be enforced is reported by its place', () => {
  const reports = convert(REPORTED.map(([schema]) => schema));
  for (const [index, [schema, places]] of REPORTED.entries()) {
    assert.equal(
      reports[index]?.unenforced,
      places,
      `${JSON.stringify(schema).slice(0, 200)}: ${reports[index]?.error}`,
    );
  }
});

// Ajv supports these in part.
const list = {
  $id: 'list',
  type: 'array',
  items: { $dynamicRef: '#item' },
  $defs: { item: { $dynamicAnchor: 'item' } },
};
const listOf = ($id: string, item: object) => ({
  $id,
  $ref: 'list',
  $defs: { item: { $dynamicAnchor: 'item', ...item } },
});
const DYNAMIC: [name: string, schema: object, valid: unknown[], invalid: unknown[]][] = [
  [
    'the outermost schema of the name',
    {
      ...listOf('https://example.com/a', { type: 'integer' }),
      $ref: 'b',
      $defs: { ...listOf('', { type: 'integer' }).$defs, list, b: listOf('b', s()) },
    },
    [[1], []],
    [['a']],
  ],
  [
    'a schema for each way there',
    {
      $id: 'https://example.com/a',
      type: 'object',
      properties: { a: { $ref: 'integers' }, b: { $ref: 'texts' } },
      $defs: { integers: listOf('integers', { type: 'integer' }), texts: listOf('texts', { enum: ['x'] }), list },
    },
    [{ a: [1], b: ['x'] }, { a: [] }],
    [{ a: ['x'] }, { b: [1] }, { b: ['y'] }],
  ],
  [
    'no plain anchor',
    { $id: 'https://example.com/a', $ref: 'list', $defs: { list, item: { $anchor: 'item', type: 'integer' } } },
    [[1], ['a']],
    [],
  ],
  [
    'not',
    {
      $id: 'https://example.com/a',
      $ref: 'pair',
      $defs: {
        item: { $dynamicAnchor: 'item', type: 'integer' },
        pair: { $id: 'pair', type: ['integer', 'boolean'], not: { $dynamicRef: '#item' }, $defs: list.$defs },
      },
    },
    [true],
    [1],
  ],
];
for (const [name, schema, valid, invalid] of DYNAMIC) {
  own(`a dynamic reference means ${name}`, () => {
    const [result] = convert([schema]);
    assert.equal(result?.unenforced, [], result?.error);
    const texts = new GbnfTexts(result?.gbnf as string);
    for (const value of valid) assert.ok(texts.has('root', JSON.stringify(value)), JSON.stringify(value));
    for (const value of invalid) assert.not.ok(texts.has('root', JSON.stringify(value)), JSON.stringify(value));
  });
}

own('a schema that allows nothing is refused', () => {
  const impossible = [
    false,
    { not: {} },
    { allOf: [{ type: 'string' }, { type: 'null' }] },
    { type: 'integer', minimum: 1, maximum: 6, multipleOf: 7 },
    { ...s(), pattern: '^a$', minLength: 2 },
  ];
  for (const { error } of convert(impossible)) assert.match(error ?? '', /it allows no value/);
});

own('a malformed keyword is refused with its path', () => {
  const malformed: [of: object, reason: string][] = [
    [{ minLength: 'x' }, 'minLength must be a non-negative integer'],
    [{ type: 'null', maxItems: 1.5 }, 'maxItems must be a non-negative integer'],
    [{ type: 'null', minimum: '1' }, 'minimum must be a number'],
    [{ type: 'integer', pattern: 5 }, 'pattern must be a string'],
    [{ type: 'array', uniqueItems: 'yes' }, 'uniqueItems must be a boolean'],
    [{ type: 'string', properties: [] }, 'properties must be an object'],
    [{ dependentRequired: { a: [5] } }, 'dependentRequired must list names'],
    [{ enum: null }, 'enum must be an array'],
  ];
  const reports = convert(malformed.map(([a]) => ({ type: 'object', properties: { a } })));
  for (const [index, [, reason]] of malformed.entries()) {
    assert.match(reports[index]?.error ?? '', `at #/properties/a: ${reason}.`);
  }
});

own.run();

interface Group {
  description: string;
  schema: unknown;
  tests: { data: unknown; valid: boolean }[];
}

// biome-ignore lint/suspicious/noExplicitAny: schemas of any form
type Json = any;

const checkout = process.env.CHASQUI_SCHEMA_SUITE;
if (checkout !== undefined) {
  const test = suite('llama: schemas of the JSON-Schema-Test-Suite');
  const jsonFiles = (folder: string) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.json'))
      .map((name): [name: string, value: Json] => [name, JSON.parse(readFileSync(path.join(folder, name), 'utf8'))]);
  // A request carries one document: other documents become a part of it.
  const documents: Record<string, Json> = Object.fromEntries([
    ...jsonFiles(path.join(checkout, 'remotes', 'draft2020-12'))
      .filter(([name]) => !/^(metaschema|format-assertion)/.test(name))
      .map(([name, schema]) => [`http://localhost:1234/draft2020-12/${name}`, schema]),
    ...jsonFiles(path.join(root, 'node_modules', 'ajv', 'dist', 'refs', 'json-schema-2020-12')).map(([, schema]) => [
      schema.$id,
      schema,
    ]),
  ]);
  const bundled = (schema: Json) => {
    if (!/"\$ref":"[^"#]*(json|draft2020-12\/object|2020-12\/schema)\b/.test(JSON.stringify(schema))) return schema;
    const parts = Object.entries(documents).flatMap(([uri, document]) => {
      const $id = document.$id ?? uri;
      return [[uri, { ...document, $id }], ...($id === uri ? [] : [[`of ${uri}`, { $id: uri, $ref: $id }]])];
    });
    return { ...schema, $defs: { ...schema.$defs, ...Object.fromEntries(parts) } };
  };

  test('none is wrong, nine in ten are enforced', () => {
    const groups = jsonFiles(path.join(checkout, 'tests', 'draft2020-12'))
      .filter(([name]) => !name.startsWith('optional'))
      .flatMap(([, group]): Group[] => group);
    const count = { enforced: 0, reported: 0, refused: 0, notJudged: 0 };
    for (const [index, { gbnf, unenforced, error }] of convert(groups.map(({ schema }) => bundled(schema))).entries()) {
      const { description, schema, tests } = groups[index] as Group;
      if (error !== undefined) {
        // Only what allows nothing.
        assert.not.ok(
          tests.some(({ valid }) => valid),
          `${description}: ${error}`,
        );
        count.refused++;
      } else if (unenforced?.length) {
        count.reported++;
      } else {
        const texts = new GbnfTexts(gbnf as string);
        const isFormat = JSON.stringify(schema).includes('"format"');
        for (const { data, valid } of tests) {
          assert.ok(
            valid || isFormat || !texts.has('root', JSON.stringify(data)),
            `${description}: ${JSON.stringify(data)}`,
          );
        }
        let isValid: (value: unknown) => boolean;
        try {
          isValid = validatorOf(schema, false, documents);
          if (tests.some(({ data, valid }) => isValid(data) !== valid)) throw new Error('Ajv disagrees with the suite');
        } catch {
          count.notJudged++; // something that Ajv does not do
          continue;
        }
        assert.is(wrongText(gbnf as string, isValid), null, description);
        count.enforced++;
      }
    }
    console.log(count);
    assert.ok(count.enforced / (count.enforced + count.reported + count.refused) >= 0.9, JSON.stringify(count));
  });

  test('no format allows what the suite does not', () => {
    const groups = jsonFiles(path.join(checkout, 'tests', 'draft2020-12', 'optional', 'format')).flatMap(
      ([, group]): Group[] => group,
    );
    for (const [index, { gbnf }] of convert(
      groups.map(({ schema }) => ({ ...(schema as object), type: 'string' })),
    ).entries()) {
      const { description, schema, tests } = groups[index] as Group;
      const { format } = schema as { format?: string };
      if (format === 'unknown') continue;
      const texts = new GbnfTexts(gbnf as string);
      for (const { data, valid } of tests) {
        // Like most validators, `hostname` does not decode punycode.
        const isCoded = typeof data === 'string' && /^xn--/i.test(data) && format === 'hostname';
        const isWrong = typeof data === 'string' && !valid && !isCoded && texts.has('root', JSON.stringify(data));
        assert.not.ok(isWrong, `${description}: ${data}`);
      }
    }
  });
  test.run();
}
