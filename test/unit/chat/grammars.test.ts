// The grammars of custom tools: what is read of a definition, and which texts its GBNF lets through as JSON.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ConversionBudget } from '../../../ts/api/shared/tools/grammars/conversion-budget.js';
import { readDefinition, type Syntax } from '../../../ts/api/shared/tools/grammars/enforced-text.js';
import { DefinitionError } from '../../../ts/api/shared/tools/grammars/grammar-tree.js';
import { faultOfPatch, PATCH_GRAMMAR } from '../../support/codex-patch.js';
import { GbnfTexts } from '../../support/gbnf-texts.js';
import { seededRandom } from '../../support/seeded-random.js';

const test = suite('unit: grammars of custom tools');

interface Texts {
  has(text: string): boolean;
  /** The same of what stands between the quotes in JSON. */
  hasJson(json: string): boolean;
  some(count: number): string[];
}

const read = (syntax: Syntax, definition: string) => readDefinition(syntax, definition, 'rule', new ConversionBudget());

function textsOf(syntax: Syntax, definition: string): Texts {
  const gbnf = read(syntax, definition);
  if (gbnf === null) throw new Error(`it is passed over: ${definition}`);
  const { root, rules } = gbnf;
  const texts = new GbnfTexts(rules);
  const random = seededRandom(1);
  return {
    has: (text) => texts.has(root, JSON.stringify(text).slice(1, -1).replaceAll('\x7f', '\\u007f')),
    hasJson: (json) => texts.has(root, json),
    some: (count) => Array.from({ length: count }, () => JSON.parse(`"${texts.one(root, random)}"`)),
  };
}

function check(syntax: Syntax, definition: string, yes: readonly string[], no: readonly string[]): void {
  const texts = textsOf(syntax, definition);
  for (const text of yes) assert.ok(texts.has(text), `${definition} takes ${JSON.stringify(text)}`);
  for (const text of no) assert.not(texts.has(text), `${definition} refuses ${JSON.stringify(text)}`);
}

const CONSTRUCTS: Record<string, [definition: string, yes: string[], no: string[]]> = {
  'rules and strings': ['start: "a" b\nb: "b" "c"', ['abc'], ['ab', 'abcd', '']],
  terminals: ['start: X Y\nX: "x" | "z"\nY: X "y"', ['xzy', 'zxy'], ['xy']],
  'strings in any case': ['start: "Ab-é"i', ['ab-é', 'AB-É', 'aB-é'], ['ab', 'Ab-è']],
  'escapes in strings': [String.raw`start: "\"\\\n\t\x41\u00e9\U0001F600\d/"`, ['"\\\n\tAé😀\\d/'], ['"']],
  ranges: ['start: "a".."c" "\\x00".."\\x1f"', ['a\n', 'c\u0001', 'b\u001f'], ['d\n', 'a ']],
  expressions: ['start: /[a-c]+/ /\\d{2}/', ['abc12'], ['12', 'a1']],
  'flags of expressions': ['start: /ab./is', ['aB\n', 'ABx'], ['ab']],
  'spaces and comments in expressions': ['start: /a b # c/x', ['ab'], ['a b']],
  'slashes in expressions': ['start: /a\\/b/', ['a/b'], ['a\\/b']],
  'alternatives over lines': [
    'start: "a"\n     | "b" // not "d"\n  # nor this\n\n     | "c"',
    ['a', 'b', 'c'],
    ['d', 'ab'],
  ],
  'an empty alternative': ['start: "a" | ', ['a', ''], ['aa']],
  groups: ['start: ("a" | "b" "c") "d"', ['ad', 'bcd'], ['bd', 'abcd']],
  'groups over lines': ['start: (\n  "a"\n  | "b"\n)', ['a', 'b'], ['ab']],
  'optional groups': ['start: "a" ["b" | "c"] "d"', ['ad', 'abd', 'acd'], ['abcd']],
  repetitions: ['start: "a"? "b"* "c"+', ['c', 'abbcc'], ['aac', 'ab']],
  'counted repetitions': ['start: "ab"~2 "c"~1..3', ['ababc', 'ababccc'], ['abc', 'ababcccc']],
  'aliases, priorities and modifiers': [
    '?start.2: "a" -> one\n  | x -> two\n!x.-1: _y\n_y: Z\nZ.5: "z"',
    ['a', 'z'],
    [''],
  ],
  imports: ['start: INT WS_INLINE\n%import common (INT, WS_INLINE)', ['12 \t', '1 '], ['1', '1\n']],
  'imports by another name': ['start: N\n%import common.SIGNED_NUMBER -> N', ['-1.5e3', '7', '.5'], ['e3', '--1']],
  'imports that are made of others': ['start: CNAME\n%import common.CNAME', ['_a1', 'Z'], ['1a', '']],
  'strings of the library': [
    'start: ESCAPED_STRING\n%import common.ESCAPED_STRING',
    ['"a\\"b"', '""'],
    ['"a', '"a"b"', '"\n"'],
  ],
  'comments of the library': [
    'start: C_COMMENT\n%import common.C_COMMENT',
    ['/* a*b **/', '/**/'],
    ['/* */ */', '/*/'],
  ],
  'what is ignored': [
    'start: "a" B\nB: "b" "c"\n%ignore " "\n%ignore /x+/',
    ['a bc', ' a  bc ', 'abc', 'axxbc'],
    ['ab c'],
  ],
  'lists that begin with themselves': [
    'start: "[" l "]"\nl: "a" | l "," "a" | l "," "b"',
    ['[a]', '[a,b,a]'],
    ['[]', '[b]', '[a,]'],
  ],
  'rules within themselves': ['start: "(" start* ")"', ['()', '(()(()))'], ['', '(()', '())']],
  'what is empty again and again': ['start: ("a"? ("b"? x)*)*\nx: "c"? y\ny: "d"?', ['', 'acbd', 'bb'], ['e']],
  'a way that has no end': ['start: "a" | "b" x\nx: "c" x', ['a'], ['b', 'bc']],
  'names that mean something elsewhere': ['start: constructor\nconstructor: "a"', ['a'], ['']],
};

for (const [name, [definition, yes, no]] of Object.entries(CONSTRUCTS)) {
  test(`Lark: ${name}`, () => check('lark', definition, yes, no));
}

/** As JavaScript understands them as well. */
const EXPRESSIONS: readonly (readonly [string, ...string[]])[] = [
  ['(add|sub)\\(\\d{1,3}, [a-f\\d]+\\)', 'add(12, a0)'],
  ['^a.*$', 'a', 'a"\\\t'],
  ['^ab$|^cd$', 'ab', 'cd'],
  ['[^"\\\\]*', '', "it's"],
  ['[^\\n]{0,3}', '"\\\r'],
  ['"(?:[^"\\\\]|\\\\.)*"', '"a\\"b"'],
  ['[\\w.-]+@[\\w-]+(?:\\.[a-z]{2,})+', 'a.b@c-d.org'],
  ['(?<year>[0-9]{4})-[0-9]{2}', '2026-11'],
  ['a{2}b{1,}c{0,2}', 'aabb', 'aabcc'],
  ['{a}|a{b|x{1,y', '{a}', 'a{b', 'x{1,y'],
  ['[\\]]?[^\\]]', ']a', 'b'],
  ['[a\\-z^-]+', 'a-^z'],
  ['[\\x00-\\x1f\\x7f]', '\u0000', '\u001f', '\u007f', '\n'],
  ['[\\u{1F600}-\\u{1F64F}é]+', '😀é'],
  ['(a|)(b*)*', '', 'abb'],
  ['(?:\\/\\*|\\.|\\^)+', '/*.^'],
];

test('regular expressions are the language that they are elsewhere', () => {
  for (const [definition, ...yes] of EXPRESSIONS) {
    const isMatch = new RegExp(`^(?:${definition})$`, definition.startsWith('{') ? '' : 'u');
    const texts = textsOf('regex', definition);
    for (const text of yes) assert.ok(isMatch.test(text) && texts.has(text), `${definition}: ${JSON.stringify(text)}`);
    // JavaScript's `.` matches fewer line breaks.
    for (const text of texts.some(60)) {
      assert.ok(
        isMatch.test(text.replace(/[\r\u2028\u2029]/g, ' ')) || isMatch.test(text),
        `${definition}: ${JSON.stringify(text)}`,
      );
    }
  }
});

test('what regular expressions of Rust and Python have beyond those', () => {
  check('regex', '\\Aa(?i)b(?-i:c)d\\z', ['abcd', 'aBcD'], ['Abcd', 'abCd']);
  check('regex', '[[:alpha:][:^digit:]]', ['a', '-'], ['1']);
  check('regex', '(?x) a [b] {2} # c\n d', ['abbd'], ['a bbd']);
  check('regex', 'a(?#b)c(?P<n>d){,2}', ['ac', 'acdd'], ['abc', 'acddd']);
  check('regex', '\\s\\S\\D', [' ax', '\u0085éé'], ['xax', '  a', ' a1', ' a\u0663']);
  check('regex', '\\w\\W\\d', ['_-1'], ['é-1', 'aé1', 'a-\u0663']);
  check('regex', '[]a]+', [']a'], ['b']);
  check('regex', '(?s:.)\\x{1F600}\\U0001F600', ['\n😀😀'], ['😀😀']);
  check('regex', '(?i)[k-l]s', ['\u212a\u017f', 'LS'], ['ms']);
  check('regex', '(?i)[^k]', ['a'], ['k', 'K', '\u212a']);
});

test('every character has one form in JSON, and others are no part of the grammar', () => {
  const negated = textsOf('regex', '[^x]');
  const any = textsOf('regex', '(?s).');
  for (let code = 0; code < 0x300; code++) {
    const character = String.fromCharCode(code);
    const json = code === 0x7f ? '\\u007f' : JSON.stringify(character).slice(1, -1);
    assert.ok(any.hasJson(json), json);
    assert.is(negated.hasJson(json), character !== 'x', json);
    if (json !== character) assert.not(any.hasJson(character), `raw ${json}`);
  }
  for (const json of ['😀', '\ud7ff', '\ue000', '\u{10ffff}']) assert.ok(any.hasJson(json), json);
  for (const json of ['\\u0041', '\\/', '\\u000a', '\\u001F', '\\u0022', '\\ud83d\\ude00', '\\x', '\\', '\ud800']) {
    assert.not(any.hasJson(json), json);
  }
});

test('grammars that no grammar of ours can hold are passed over', () => {
  for (const definition of [
    'start: /a(?=b)/',
    'start: /(?<!a)b/',
    'start: /a+?b/',
    'start: /^a/',
    'start: /\\bword\\b/',
    'start: /\\p{L}+/',
    'start: /(a)\\1/',
    'start: /[a-z&&[^b]]/',
    'start: /(?i:[\\x{100}-\\x{1000}])/',
    'start: pair{"a"}\npair{x}: x x',
    'start: A\n%declare A',
    'start: A\n%import .other.A',
    'start: A\n%import python.A',
    'start: "a"\n%extend start: "b"',
    'start[capture]: "a"',
    'start: <|special|>',
    'start: "a"~3000',
    'start: a "x"\na: start | "y"',
    'start: b? start "x" | "y"\nb: "z"',
  ]) {
    assert.is(read('lark', definition), null, definition);
  }
  for (const definition of ['a*?', 'a++', '(?>a)', 'a$b', '(^a)', '\\Bx', '(?R)']) {
    assert.is(read('regex', definition), null, definition);
  }
});

const FAULTS: readonly (readonly [Syntax, string, line: number, column: number, RegExp])[] = [
  ['lark', '', 1, 1, /expected a rule named `start`, found the end/],
  ['lark', 'a: "x"', 1, 7, /expected a rule named `start`/],
  ['lark', 'start: "x', 1, 8, /expected another `"` in the line/],
  ['lark', 'start: /x', 1, 8, /expected another `\/`/],
  ['lark', 'start: "é" b\n', 1, 12, /there is no rule `b`/],
  ['lark', 'start: B', 1, 8, /there is no terminal `B`/],
  ['lark', '\nstart "x"', 2, 7, /expected `:`, found `"x"`/],
  ['lark', 'start: ("x"\nb: "y"', 2, 2, /expected `\)` for the `\(` in line 1, found `:`/],
  ['lark', 'start: "a")', 1, 11, /expected the end of `start` in line 1, found `\)`/],
  ['lark', 'start: "a"?*', 1, 12, /expected the end of `start`/],
  ['lark', 'start: "a" -> ', 1, 15, /expected the name of an alias, found the end/],
  ['lark', 'start: "a"\nstart: "b"', 2, 1, /`start` is defined already/],
  ['lark', 'start: A\nA: b\nb: "x"', 2, 4, /expected a terminal, found the rule `b`/],
  ['lark', 'start: "b"~3..1', 1, 12, /the repetition ends before it begins/],
  ['lark', 'start: "ab".."c"', 1, 8, /expected a range/],
  ['lark', 'start: "\\u12"', 1, 8, /expected hexadecimal digits/],
  ['lark', 'start: ;', 1, 8, /expected a rule or a terminal, found `;`/],
  ['lark', '%foo', 1, 1, /expected `%import` or `%ignore`, found `%foo`/],
  ['lark', '%import common.NOPE', 1, 16, /there is no terminal `NOPE` in the library/],
  ['lark', 'start: "a" x\nx: "b" x', 1, 1, /no text follows it/],
  ['lark', 'start: "a"\n  | /(b/', 2, 8, /expected `\)` for the group that begins at line 2, column 6, found the end/],
  ['lark', 'start: /[b-a]/', 1, 11, /the range ends before it begins/],
  ['regex', 'a)', 1, 2, /expected `\(` before `\)`/],
  ['regex', 'a|*', 1, 3, /expected something to repeat, found `\*`/],
  ['regex', 'a{3,2}', 1, 7, /the repetition ends before it begins/],
  ['regex', 'a\n[b', 2, 3, /expected `\]` for the class that begins at line 2, column 1, found the end/],
  ['regex', '[[:nope:]]', 1, 10, /there is no class `\[:nope:\]`/],
  ['regex', 'a\\', 1, 3, /expected a character after the backslash/],
  ['regex', '\\xzz', 1, 3, /expected the 2 hexadecimal digits of a character, found `z`/],
  ['regex', '[^\\s\\S]', 1, 1, /no text follows it/],
];

for (const [syntax, definition, line, column, reason] of FAULTS) {
  test(`what is wrong with ${JSON.stringify(definition)} is said, and where`, () => {
    try {
      read(syntax, definition);
    } catch (thrown) {
      assert.instance(thrown, DefinitionError);
      const { message, ...place } = thrown as DefinitionError;
      assert.equal([place.line, place.column], [line, column], message);
      assert.match(message, reason);
      return;
    }
    assert.unreachable('it is taken');
  });
}

test('the grammar of Codex’s patches is enforced', () => {
  const texts = textsOf('lark', PATCH_GRAMMAR);
  const patch = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n');
  for (const good of [
    patch('*** Add File: a b.txt', '+"quoted" \\ tab\t', '+'),
    patch('*** Delete File: é/😀.ts'),
    patch('*** Update File: a', '*** Move to: b', '@@ def f():', ' x', '-y', '+z', '@@', '+', '*** End of File'),
    patch('*** Update File: a').trimEnd(),
    patch('*** Delete File: a', '*** Add File: b', '+c'),
  ]) {
    assert.ok(texts.has(good), good);
    assert.is(faultOfPatch(good), null);
  }
  for (const bad of [
    '',
    patch(),
    patch('*** Add File: a'),
    patch('*** Add File: ', '+a'),
    patch('*** Add File: a', 'b'),
    patch('*** Delete File: a', '+b'),
    patch('*** Update File: a', '*** Move to: b', '*** Move to: c'),
    patch('*** Update File: a', '@@x'),
    patch('*** Update File: a', '*** End of File'),
    `${patch('*** Delete File: a')}\n`,
    ` ${patch('*** Delete File: a')}`,
  ]) {
    assert.not(texts.has(bad), bad);
    if (!bad.endsWith('\n\n')) assert.not(faultOfPatch(bad) === null, bad);
  }
  for (const text of texts.some(300)) assert.is(faultOfPatch(text), null, JSON.stringify(text));
});

test.run();
