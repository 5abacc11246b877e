import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterReasoning } from '../../../ts/api/shared/tools/grammars/after-reasoning.js';
import { GbnfTexts } from '../../support/gbnf-texts.js';

const TAGS = { start: '<think>', ends: ['</think>'], promptEnd: '<|im_start|>assistant\n<think>\n' };

function check(gbnf: string, yes: readonly string[], no: readonly string[]): void {
  const texts = new GbnfTexts(gbnf);
  for (const text of yes) assert.ok(texts.has('root', text), `takes ${text}`);
  for (const text of no) assert.not(texts.has('root', text), `refuses ${text}`);
}

test('reasoning ends with the first closing tag, also after parts of it', () => {
  check(
    afterReasoning('root ::= "a" | "b" root', TAGS),
    [
      '</think>a',
      'Hm\n</think>\n\nbba',
      '<</think>a',
      '</</think>a',
      '</thin</think>a',
      '<</<</think>\na',
      'é😀</think>a',
    ],
    ['a', '</think>', 'Hm</think></think>a', 'Hm</think>x</think>a', '</think>\n\n\na', '</think>c'],
  );
});

test('a tag that repeats its beginning is found', () => {
  const tags = { start: '[R]', ends: ['--->', '\n[/R]\n'], promptEnd: '[R]' };
  const gbnf = afterReasoning('root ::= "a"', tags);
  check(gbnf, ['--->a', '----->a', '--x--->a', '[/[/R]a'], ['---a', '-->a', '--->--->a', '[/R][/R]a']);
});

test('a prompt without a tag permits reasoning, and one with a closed one does not', () => {
  check(
    afterReasoning('root ::= "a"', { ...TAGS, promptEnd: 'assistant\n' }),
    ['a', '<think>x</think>a'],
    ['x</think>a'],
  );
  const closed = { ...TAGS, promptEnd: '<think>\n\n</think>\n\n' };
  assert.is(afterReasoning('root ::= "a"', closed), 'root ::= "a"');
});

test('names of the grammar are changed, and nothing else', () => {
  const gbnf = 'root ::= "root \\" root" [root\\]] item{1,2} # root\nitem ::= "x" | reasoning-0\nreasoning-0 ::= "y"';
  const [, own = ''] = afterReasoning(gbnf, TAGS).split('content-root\n');
  assert.is(
    own,
    'content-root ::= "root \\" root" [root\\]] content-item{1,2} # root\n' +
      'content-item ::= "x" | content-reasoning-0\ncontent-reasoning-0 ::= "y"',
  );
});

test.run();
