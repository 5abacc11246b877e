// Markdown that streams: whatever pieces it comes in, it ends as the whole text would, and finished blocks stay.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Block, MarkdownBlocks } from '../../../ts/desktop/ui/state/markdown-blocks.js';

const TEXT = `# Title

A paragraph with **bold** text
over two lines.

- one
- two

  still two

1. first

| a | b |
|---|---|
| 1 | 2 |

\`\`\`js
const x = 1;

const y = 2;
\`\`\`

    indented code

> quoted

Setext
======

the end`;

const blocks = () => new MarkdownBlocks((html) => html);

test('text that comes in pieces ends as the same blocks as the whole text', () => {
  const whole = blocks().update(TEXT, true);
  assert.is(whole.length, 10);
  for (const size of [1, 2, 3, 7, 50]) {
    const growing = blocks();
    for (let end = size; end < TEXT.length; end += size) growing.update(TEXT.slice(0, end), false);
    assert.equal(growing.update(TEXT, true), whole, `pieces of ${size}`);
  }
});

test('line ends of all kinds count as one character', () => {
  const whole = blocks().update(TEXT, true);
  for (const end of ['\r\n', '\r']) {
    const text = TEXT.replaceAll('\n', end);
    const growing = blocks();
    for (let at = 1; at < text.length; at += 1) growing.update(text.slice(0, at), false);
    assert.equal(growing.update(text, true), whole, JSON.stringify(end));
  }
});

test('finished blocks are the same objects each time, and are not cleaned again', () => {
  let cleaned = 0;
  const growing = new MarkdownBlocks((html) => {
    cleaned += 1;
    return html;
  });
  const before = growing.update(`${'A paragraph.\n\n'.repeat(100)}The last`, false);
  assert.is(cleaned, 101);
  const after = growing.update(`${'A paragraph.\n\n'.repeat(100)}The last one`, false);
  assert.is(cleaned, 102);
  assert.ok(before.slice(0, 100).every((block, index) => block === after[index]));
});

test('a fence is closed by its end, or by the end of the text', () => {
  const closed = (text: string, complete = false) =>
    (blocks().update(text, complete)[0] as Block & { closed: boolean }).closed;
  assert.not(closed('```js\nlet a;'));
  assert.not(closed('```js\nlet a;\n``'));
  assert.ok(closed('```js\nlet a;\n```'));
  assert.ok(closed('```js\nlet a;', true));
});

test('another text begins anew', () => {
  const growing = blocks();
  growing.update('One.\n\nTwo.\n\nThree.', true);
  assert.equal(growing.update('Other.', true), [{ kind: 'html', html: '<p>Other.</p>\n', closed: true }]);
});

test('headings leave the first two levels to the page', () => {
  assert.equal(blocks().update('# A', true), [{ kind: 'html', html: '<h3>A</h3>', closed: true }]);
  assert.equal(blocks().update('###### A', true), [{ kind: 'html', html: '<h6>A</h6>', closed: true }]);
});

test.run();
