import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CompletionPrinter } from '../../../ts/cli/chat/print-completion.js';

const test = suite('cli: answers on a terminal');

function printed(style: { reasoning: boolean; color: boolean }, ...tokens: { reasoning?: string; text?: string }[]) {
  let written = '';
  const printer = new CompletionPrinter((text) => {
    written += text;
  }, style);
  for (const { reasoning = '', text = '' } of tokens) printer.add({ reasoning, text });
  printer.end();
  return written;
}

const COLOR = { reasoning: true, color: true };

test('control characters of the model are replaced, line breaks and tabs are not', () => {
  assert.is(printed(COLOR, { text: 'a\u001b[31mb\r\n' }, { text: '\tc\u009bd\u0007' }), 'a?[31mb\n\tc?d?\n');
});

test('reasoning is dimmed, also where it is stopped', () => {
  const tokens = [{ reasoning: '\nwhy' }, { reasoning: ' not\n' }, { text: '\n\nSo' }, { text: '.' }];
  assert.is(printed(COLOR, ...tokens), '\u001b[2mwhy not\n\u001b[22m\nSo.\n');
  assert.is(printed(COLOR, { reasoning: 'why' }), '\u001b[2mwhy\u001b[22m\n');
  assert.is(printed({ reasoning: true, color: false }, ...tokens), 'Thinking:\nwhy not\n\nSo.\n');
  assert.is(printed({ reasoning: false, color: false }, ...tokens), 'So.\n');
});

test.run();
