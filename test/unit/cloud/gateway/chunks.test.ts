// Whole chunks are found behind each other, and nothing else is taken for one.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chunksEnd, unframed } from '../../../../ts/cloud/gateway/chunks.js';

const test = suite('cloud: chunks');

const chunk = (text: string) => `${Buffer.byteLength(text, 'latin1').toString(16)}\r\n${text}\r\n`;
const endOf = (text: string, at = 0) => chunksEnd(Buffer.from(text, 'latin1'), at);

test('as many as have arrived whole, from anywhere', () => {
  const two = chunk('data: 1\n\n') + chunk('x'.repeat(300));
  assert.is(endOf(two), two.length);
  assert.is(endOf(`ab${two}`, 2), two.length + 2);
  for (let cut = 0; cut < two.length; cut++) {
    const whole = cut < chunk('data: 1\n\n').length ? 0 : chunk('data: 1\n\n').length;
    assert.is(endOf(two.slice(0, cut)), whole, `cut at ${cut}`);
  }
});

test('the end of the body, extensions, signs, and lengths that do not fit are left to others', () => {
  const good = chunk('data: 1\n\n');
  for (const bad of [
    '0\r\n\r\n',
    '9;x=y\r\ndata: 1\n\n\r\n',
    '-9\r\n',
    '+9\r\n',
    ' 9\r\n',
    '\r\n',
    'g\r\n',
    '9\ndata: 1\n\n\n',
  ]) {
    assert.is(endOf(good + bad), good.length, JSON.stringify(bad));
  }
  assert.is(endOf('8\r\ndata: 1\n\n\r\n'), 0);
  assert.is(endOf('a\r\ndata: 1\n\n\r\n'), 0);
  assert.is(endOf(`${'0'.repeat(9)}9\r\ndata: 1\n\n\r\n`), 0);
  assert.is(endOf(`ffffffff\r\n${'x'.repeat(100)}`), 0);
});

test('their bytes come out as they went in, line ends and lengths among them included', () => {
  for (const bodies of [['data: 1\n\n'], ['a\r\nb', '\r\n', '5\r\n12345\r\n'], ['\xff\x00\xe4', 'x'.repeat(5000)]]) {
    assert.is(unframed(bodies.map(chunk).join('')), bodies.join(''));
  }
  assert.is(unframed(''), '');
});

test.run();
