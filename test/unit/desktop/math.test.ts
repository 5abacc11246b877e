// Formulas in Markdown, and the MathML that temml makes of them.
import { runInThisContext } from 'node:vm';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseFormula } from '../../../ts/desktop/ui/math/formula.js';
import { MarkdownBlocks } from '../../../ts/desktop/ui/state/markdown-blocks.js';

const mathml = (tex: string, display = false) => parseFormula(tex, display)?.toMarkup();
const htmlOf = (text: string) =>
  new MarkdownBlocks((html) => html)
    .update(text, true)
    .map((block) => (block.kind === 'html' ? block.html : block.code))
    .join('');

/** Formulas are placeholders in the HTML; the page draws them. */
const INLINE = '<code encoding="application/x-tex">';
const BLOCK = '<code encoding="application/x-tex" display="block">';

test('numbers, letters, operators, subscripts and superscripts', () => {
  assert.match(mathml('a_{ij}') ?? '', '<msub><mi>a</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub>');
  assert.match(mathml('x_1^2') ?? '', /<msubsup><mi>x<\/mi><mn>1<\/mn><mn.*>2<\/mn><\/msubsup>/);
  assert.match(mathml('3.14 < \\pi') ?? '', '<mn>3.14</mn><mo>&lt;</mo><mi>π</mi>');
  assert.match(mathml("f'") ?? '', /<msup><mi>f<\/mi><mo.*>′<\/mo><\/msup>/);
});

test('fractions, roots, fences and texts', () => {
  assert.match(mathml('\\frac{1}{2}') ?? '', '<mfrac><mn>1</mn><mn>2</mn></mfrac>');
  assert.match(mathml('\\sqrt[3]{x}') ?? '', /<mroot>.*<mi>x<\/mi>.*<mn[^>]*>3<\/mn>.*<\/mroot>/);
  assert.match(
    mathml('\\left( x \\right]') ?? '',
    /<mo[^>]*stretchy="true"[^>]*>\(<\/mo><mi>x<\/mi><mo[^>]*stretchy="true"/,
  );
  assert.match(mathml('\\text{if } x') ?? '', '<mtext>if\u00a0</mtext>');
  assert.match(mathml('\\mathbb{R}') ?? '', '<mi>ℝ</mi>');
});

test('limits are above and below in display style, and beside in a line', () => {
  assert.match(mathml('\\sum_{i=1}^n i', true) ?? '', /<munderover><mo[^>]*>∑<\/mo>/);
  assert.match(mathml('\\sum_{i=1}^n i') ?? '', /<msubsup><mo[^>]*>∑<\/mo>/);
});

test('matrices and cases', () => {
  const matrix = mathml('\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}') ?? '';
  assert.is(matrix.match(/<mtr>/g)?.length, 2);
  assert.is(matrix.match(/<mtd/g)?.length, 4);
  assert.match(mathml('\\begin{cases} 1 & x > 0 \\\\ 0 & \\text{else} \\end{cases}') ?? '', />{<\/mo><mtable>/);
});

test('bold symbols, tags and split equations', () => {
  assert.match(mathml('\\boldsymbol{x} + \\boldsymbol{\\alpha}') ?? '', /<mi>𝒙<\/mi><mo>\+<\/mo><mi>𝜶<\/mi>/);
  assert.match(mathml('E = mc^2 \\tag{1}', true) ?? '', '<mtext class="tml-tag">(1)</mtext>');
  const split = mathml('\\begin{split} a &= b \\\\ &= c \\end{split}', true) ?? '';
  assert.is(split.match(/<mtr>/g)?.length, 2);
});

test('an unknown command is shown by name, and the rest is drawn', () => {
  const formula = mathml('\\frac{1}{2} \\unknown{x}') ?? '';
  assert.match(formula, '<mfrac>');
  assert.match(formula, /style="color:light-dark\(#b3261e, #ff8a80\);[^>]*>.*\\unknown/);
  for (const name of ['constructor', 'toString', 'valueOf', 'hasOwnProperty']) {
    assert.match(mathml(`\\${name}{x}`) ?? '', `\\${name}`);
  }
});

test('invalid, hostile and oversized formulas are not drawn', () => {
  for (const tex of ['{', '}', '\\frac{1}', '^', '\\begin{tikz}x\\end{tikz}', '\\left( x', 'x_1_2']) {
    assert.is(parseFormula(tex, false), null, tex);
  }
  for (const name of ['constructor', '__proto__']) {
    assert.is(parseFormula(`\\begin{${name}}x\\end{${name}}`, false), null, name);
  }
  assert.is(parseFormula('{'.repeat(1999) + '}'.repeat(1999), false), null);
  assert.is(parseFormula(`${'\\sqrt{'.repeat(200)}x${'}'.repeat(200)}`, false), null);
  assert.is(parseFormula('x'.repeat(5000), false), null);
  assert.is(parseFormula('\\def\\a{\\a\\a}\\a', false), null);
  assert.is(parseFormula(`\\def\\a{${'x'.repeat(1900)}}${'\\a'.repeat(100)}`, false), null);
  assert.not.match(mathml('\\text{<script>} <b>') ?? '', /<script|<b>/);
  for (const tex of [
    '\\href{javascript:alert(1)}{x}',
    '\\includegraphics{https://example.org/x.png}',
    '\\class{a}{x}',
  ]) {
    assert.not.match(mathml(tex) ?? '', /<a|href=|<img|src=|class="a"/, tex);
  }
  assert.match(htmlOf('A \\(\\unknown{<b>}\\) here'), `${INLINE}\\(\\unknown{&lt;b&gt;}\\)</code>`);
});

test('in Markdown: between dollars or brackets, in a line or as a block; prices and code are none', () => {
  assert.match(htmlOf('The area $\\pi r^2$ of a circle'), `area ${INLINE}$\\pi r^2$</code> of`);
  assert.match(htmlOf('So \\(x = 1\\).'), `${INLINE}\\(x = 1\\)</code>.`);
  assert.match(
    htmlOf('Thus\n\\[\nx = 1\n\\]\nand so on'),
    /<p>Thus<\/p>\s*<div><code encoding="application\/x-tex" display="block">.*<p>and so on<\/p>/s,
  );
  assert.match(htmlOf('$$\nx = 1\n$$'), BLOCK);
  assert.match(htmlOf('1. First\n\n   $$x = 1$$\n\n2. Second'), BLOCK);
  for (const text of [
    'It costs $5 and then $10.',
    'Run `echo $HOME and $PATH`',
    'a \\$5 and \\$6 b',
    '```sh\n$x$\n```',
  ]) {
    assert.not.match(htmlOf(text), 'encoding=', text);
  }
});

test('a formula that is still being written is text until it ends', () => {
  const blocks = new MarkdownBlocks((html) => html);
  const tex = 'It is\n\n$$\n\\frac{1}{2}\n$$\n\nas was said.';
  for (let end = 1; end < tex.length; end += 1) blocks.update(tex.slice(0, end), false);
  const whole = blocks.update(tex, true).map((block) => (block.kind === 'html' ? block.html : ''));
  assert.match(whole.join(''), BLOCK);
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
    assert.match(
      htmlOf(`${before}\\(x\\) and $x$.`),
      /(<code encoding="[^"]+">(\\\(x\\\)|\$x\$)<\/code>.*){2}/,
      before,
    );
  }
  assert.match(htmlOf('\\[x\\] is\n\n\\[y\\]'), /^<p>\[x\] is<\/p>\n<div><code [^>]*display="block">\\\[y/);
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
