// Formulas as models write them, in the MathML that browsers draw.
import { runInThisContext } from 'node:vm';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { texToMathml } from '../../../ts/desktop/ui/math/tex.js';
import { MarkdownBlocks } from '../../../ts/desktop/ui/state/markdown-blocks.js';

const inside = (tex: string, display = false) => texToMathml(tex, display)?.replace(/^<math[^>]*>|<\/math>$/g, '');
const htmlOf = (text: string) =>
  new MarkdownBlocks((html) => html)
    .update(text, true)
    .map((block) => (block.kind === 'html' ? block.html : block.code))
    .join('');

test('numbers, letters, operators and what stands above and below', () => {
  assert.is(inside('x^2'), '<msup><mi>x</mi><mrow><mn>2</mn></mrow></msup>');
  assert.is(inside('a_{ij}'), '<msub><mi>a</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub>');
  assert.is(inside('x_1^2'), '<msubsup><mi>x</mi><mrow><mn>1</mn></mrow><mrow><mn>2</mn></mrow></msubsup>');
  assert.is(inside('3.14 < \\pi'), '<mn>3.14</mn><mo>&lt;</mo><mi>π</mi>');
  assert.is(inside("f'"), '<msup><mi>f</mi><mo>′</mo></msup>');
});

test('fractions, roots, fences and texts', () => {
  assert.is(inside('\\frac{1}{2}'), '<mfrac><mrow><mn>1</mn></mrow><mrow><mn>2</mn></mrow></mfrac>');
  assert.is(inside('\\sqrt[3]{x}'), '<mroot><mrow><mi>x</mi></mrow><mrow><mn>3</mn></mrow></mroot>');
  assert.match(inside('\\left( x \\right]') ?? '', '<mo stretchy="true">(</mo><mi>x</mi><mo stretchy="true">]</mo>');
  assert.is(inside('\\text{if } x'), '<mtext>if\u00a0</mtext><mi>x</mi>');
  assert.is(inside('\\mathbb{R}'), '<mi>ℝ</mi>');
});

test('limits stand above and below in a block, and beside in a line', () => {
  assert.match(inside('\\sum_{i=1}^n i', true) ?? '', /^<munderover><mo>∑<\/mo>/);
  assert.match(inside('\\sum_{i=1}^n i') ?? '', /^<msubsup><mo>∑<\/mo>/);
});

test('matrices and cases', () => {
  const matrix = inside('\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}') ?? '';
  assert.is(matrix.match(/<mtr>/g)?.length, 2);
  assert.is(matrix.match(/<mtd>/g)?.length, 4);
  assert.match(
    inside('\\begin{cases} 1 & x > 0 \\\\ 0 & \\text{else} \\end{cases}') ?? '',
    '<mo stretchy="true">{</mo>',
  );
});

test('what is not understood, or was made to do harm, is left as it is', () => {
  for (const tex of ['\\unknown{x}', '{', '}', '\\frac{1}', '^', '\\begin{tikz}x\\end{tikz}', '\\left( x', 'x_1_2']) {
    assert.is(texToMathml(tex, false), null, tex);
  }
  for (const name of ['constructor', 'toString', 'valueOf', 'hasOwnProperty']) {
    assert.is(texToMathml(`\\${name}{x}`, false), null, name);
  }
  for (const name of ['constructor', '__proto__']) {
    assert.is(texToMathml(`\\begin{${name}}x\\end{${name}}`, false), null, name);
  }
  assert.is(texToMathml('{'.repeat(200) + '}'.repeat(200), false), null);
  assert.is(texToMathml('x'.repeat(5000), false), null);
  assert.not.match(texToMathml('\\text{<script>} <b>', false) ?? '', /<script|<b>/);
  assert.match(htmlOf('A \\(\\unknown{<b>}\\) here'), '<code>\\(\\unknown{&lt;b&gt;}\\)</code>');
});

test('in Markdown: between dollars or brackets, in a line or as a block; prices and code are none', () => {
  assert.match(htmlOf('The area $\\pi r^2$ of a circle'), /area <math><mi>π<\/mi><msup>/);
  assert.match(htmlOf('So \\(x = 1\\).'), '<math><mi>x</mi>');
  assert.match(
    htmlOf('Thus\n\\[\nx = 1\n\\]\nand so on'),
    /<p>Thus<\/p>\s*<div><math display="block">.*<p>and so on<\/p>/s,
  );
  assert.match(htmlOf('$$\nx = 1\n$$'), '<math display="block">');
  assert.match(htmlOf('1. First\n\n   $$x = 1$$\n\n2. Second'), '<math display="block">');
  for (const text of [
    'It costs $5 and then $10.',
    'Run `echo $HOME and $PATH`',
    'a \\$5 and \\$6 b',
    '```sh\n$x$\n```',
  ]) {
    assert.not.match(htmlOf(text), '<math', text);
  }
});

test('a formula that is still being written is text until it ends', () => {
  const blocks = new MarkdownBlocks((html) => html);
  const tex = 'It is\n\n$$\n\\frac{1}{2}\n$$\n\nas was said.';
  for (let end = 1; end < tex.length; end += 1) blocks.update(tex.slice(0, end), false);
  const whole = blocks.update(tex, true).map((block) => (block.kind === 'html' ? block.html : ''));
  assert.match(whole.join(''), '<mfrac>');
});

test('formulas are found after each line of a paragraph, whatever stands before them', () => {
  for (const before of [
    'a',
    'a\nb',
    'a\n\nb',
    '# Title',
    'a\n# Title\nb',
    'a\n***\nb',
    '$$ a',
    'a\n\\[ b',
    'a\n$$ b\nc',
  ]) {
    for (const formula of ['$$x$$', '\\[\nx\n\\]', '   $$x\\\\[2pt] y$$']) {
      const html = htmlOf(`${before}\n${formula}\nc`);
      assert.is(html.split('<div>').length, 2, `${before}\n${formula}: ${html}`);
    }
  }
  for (const before of [
    'a ',
    'a*b ',
    'a `b` ',
    'a ``b ',
    'a\\\\',
    'me@example.org ',
    'www.example.org ',
    '_',
    '$5 and \\(',
    '(',
  ]) {
    assert.match(htmlOf(`${before}\\(x\\) and $x$.`), /(<mi>x<\/mi>.*){2}/, before);
  }
  assert.match(htmlOf('\\[x\\] is\n\n\\[y\\]'), /^<p>\[x\] is<\/p>\n<div><math display="block"><mi>y/);
});

test('half a mebibyte of text is read in a time that grows with its length alone', () => {
  const pieces = [
    'word\n\n',
    'a\n***\n',
    '\\[a\n',
    '$$a b\n',
    'a\n$$x$$\n',
    'a < ',
    '\\(a ',
    '$1',
    '$',
    'a\n===\n',
    'a\n$$b\n===\n',
  ];
  for (const piece of pieces) {
    const text = piece.repeat(2 ** 19 / piece.length);
    Object.assign(globalThis, { read: () => htmlOf(text).length });
    // It takes a second or two; with the rest of the text read for each piece it would take minutes.
    assert.not.throws(() => runInThisContext('read()', { timeout: 30_000 }), JSON.stringify(piece));
  }
  Reflect.deleteProperty(globalThis, 'read');
});

test.run();
