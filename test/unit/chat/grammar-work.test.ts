// Cost of custom-tool grammars: large ones are enforced, and none exceeds the work limit of a request.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ConversionBudget } from '../../../ts/api/shared/tools/grammars/conversion-budget.js';
import { readDefinition, type Syntax } from '../../../ts/api/shared/tools/grammars/enforced-text.js';
import { DefinitionError } from '../../../ts/api/shared/tools/grammars/grammar-tree.js';
import { InputGrammars } from '../../../ts/api/shared/tools/input-grammars.js';

const test = suite('unit: the work of grammars of custom tools');

const read = (syntax: Syntax, definition: string) => readDefinition(syntax, definition, 'rule', new ConversionBudget());

const chain = (count: number, rule: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => rule(n)).join('\n');

/** Whether each is enforced, in a grammar of bounded length, or passed over. */
const HOSTILE: readonly (readonly [name: string, Syntax, definition: string, isEnforced: boolean])[] = [
  ['10,000 groups within each other', 'lark', `start: ${'('.repeat(10_000)}"a"${')'.repeat(10_000)}`, false],
  ['10,000 groups of an expression', 'regex', `${'('.repeat(10_000)}a${')'.repeat(10_000)}`, false],
  ['10,000 groups that do not end', 'regex', '('.repeat(10_000), false],
  [
    'rules that double the text',
    'lark',
    `start: a0\n${chain(60, (n) => `a${n}: a${n + 1} a${n + 1}`)}\na60: "x"`,
    true,
  ],
  ['a chain of rules', 'lark', `start: a0\n${chain(900, (n) => `a${n}: a${n + 1}`)}\na900: "x"`, true],
  ['too many rules', 'lark', `start: a0\n${chain(1100, (n) => `a${n}: a${n + 1}`)}\na1100: "x"`, false],
  ['what may be empty at 5,000 places', 'lark', `start: (${'"a"? '.repeat(5000)})*`, false],
  ['repetitions of repetitions', 'lark', `start: (${'('.repeat(9)}"a"~2000${')~2000'.repeat(9)})*`, true],
  ['very many repetitions', 'lark', `start: ${'"a"~2000 '.repeat(3000)}`, false],
  ['a number beyond all numbers', 'lark', `start: "a"~${'9'.repeat(1000)}`, false],
  ['4,000 classes', 'lark', `start: ${'/[^a]/ '.repeat(4000)}`, true],
  [
    'a class of 10,000 characters',
    'regex',
    `[${Array.from({ length: 10_000 }, (_, n) => String.fromCharCode(0x100 + 2 * n)).join('')}]`,
    true,
  ],
  ['3,000 alternatives', 'regex', Array.from({ length: 3000 }, (_, n) => `a${n}`).join('|'), true],
  ['stars of stars', 'regex', '(((a*)*)*)*'.repeat(1000), true],
  ['a set of 65 ranges at 80,000 places', 'regex', `(?:${'\\D?'.repeat(400)})*`, false],
  ['a set of 65 ranges at 5,000 places', 'regex', `(?:${'\\D?'.repeat(100)})*`, true],
  ['8,000 sets of 65 ranges', 'regex', '[\\D]'.repeat(8000), false],
  ['6,000 sets of 256 letters in both cases', 'regex', `(?i)${'[Ā-ǿ]'.repeat(6000)}`, false],
  ['a definition that is too long', 'lark', `start: "${'a'.repeat(40_000)}"`, false],
  ['expressions that end nowhere', 'lark', `start: ${'/a\\'.repeat(8000)}`, false],
];

for (const [name, syntax, definition, isEnforced] of HOSTILE) {
  test(`${name} take bounded work`, () => {
    const readOrFail = () => {
      try {
        return read(syntax, definition);
      } catch (thrown) {
        assert.instance(thrown, DefinitionError);
        return null;
      }
    };
    const gbnf = readOrFail();
    assert.is(gbnf !== null, isEnforced);
    if (gbnf !== null) assert.ok(gbnf.rules.length < 2 ** 20);
  });
}

/** Distinct words of equal length. */
const words = (count: number, length: number): string[] =>
  Array.from({ length: count }, (_, n) =>
    String(n)
      .padStart(length, '0')
      .replace(/\d/g, (digit) => 'abcdefghij'[Number(digit)] as string),
  );

/** As large as people write them; the first has as many characters as all may have together. */
const LARGE: readonly (readonly [name: string, Syntax, definitions: readonly string[]])[] = [
  ['two literals of 32 Ki characters', 'regex', ['a'.repeat(32 * 1024), 'b'.repeat(32 * 1024)]],
  ['a choice of 2,900 words', 'regex', [words(2900, 10).join('|')]],
  [
    '1,800 keywords in any case',
    'lark',
    [
      `start: ${words(1800, 9)
        .map((word) => `"${word}"i`)
        .join(' | ')}`,
    ],
  ],
];

for (const [name, syntax, definitions] of LARGE) {
  test(`large grammars are enforced: ${name}`, () => {
    const grammars = new InputGrammars();
    for (const [index, definition] of definitions.entries()) {
      const format = { type: 'grammar' as const, grammar: { syntax, definition } };
      assert.ok(grammars.add(`t${index}`, format, 'format') !== null, `the definition ${index}`);
    }
  });
}

class StepCounter extends ConversionBudget {
  spent = 0;

  override spend(steps: number): void {
    super.spend(steps);
    this.spent += steps;
  }
}

function stepsOf(syntax: Syntax, definition: string): number {
  const budget = new StepCounter();
  assert.ok(readDefinition(syntax, definition, 'rule', budget) !== null, definition);
  return budget.spent;
}

/** Sets of one range each that do not touch each other. */
const sets = (count: number): string[] =>
  Array.from(
    { length: count },
    (_, n) => `[${String.fromCharCode(0x1000 + 4 * n)}-${String.fromCharCode(0x1001 + 4 * n)}]`,
  );

/** The steps for each part more: what takes longer costs more, so that all of it takes bounded work. */
const COSTS: readonly (readonly [part: string, Syntax, of: (count: number) => string, steps: number])[] = [
  ['a character of an expression', 'regex', (count) => 'a'.repeat(count), 31],
  ['a character of a string', 'lark', (count) => `start: "${'a'.repeat(count)}"`, 21],
  ['a character of two cases in an expression', 'regex', (count) => `(?i)${'a'.repeat(count)}`, 83],
  ['a character of two cases in a string', 'lark', (count) => `start: "${'a'.repeat(count)}"i`, 73],
  ['a reference', 'lark', (count) => `start: ${'a '.repeat(count)}\na: "x"`, 37],
  ['a star of a star', 'regex', (count) => '(a*)*'.repeat(count), 95],
  ['a set of 65 ranges', 'regex', (count) => '[\\D]'.repeat(count), 1793],
  ['another set', 'regex', (count) => sets(count).join(''), 470],
  ['a range of a set', 'regex', (count) => `[${sets(count).join('').replace(/[[\]]/g, '')}]`, 37],
];

for (const [part, syntax, of, expected] of COSTS) {
  test(`the work of a definition is counted: ${part}`, () => {
    assert.is(Math.round((stepsOf(syntax, of(300)) - stepsOf(syntax, of(100))) / 200), expected);
  });
}

test('the work of a definition is counted: what may be empty at many places costs as many steps as there are pairs', () => {
  const [few, many] = [40, 80].map((count) => stepsOf('lark', `start: (${'"a"? '.repeat(count)})*`)) as [
    number,
    number,
  ];
  assert.ok(many > 3 * few, `${few} and ${many} steps`);
});

for (const [name, definition, enforced] of [
  ['where each is large', `(?:${'\\D?'.repeat(100)})*`, 10],
  ['where there are very many', 'a', 5500],
] as const) {
  test(`all definitions of a request together take bounded work, ${name}`, () => {
    const grammars = new InputGrammars();
    const format = { type: 'grammar' as const, grammar: { syntax: 'regex' as const, definition } };
    const patterns = Array.from({ length: 6000 }, (_, index) => grammars.add(`t${index}`, format, 'format'));
    const count = patterns.filter((pattern) => pattern !== null).length;
    assert.ok(count > 0 && count <= enforced, `${count} are enforced`);
    assert.ok(
      patterns.slice(0, count).every((pattern) => pattern !== null),
      'the first ones',
    );
  });
}

test.run();
