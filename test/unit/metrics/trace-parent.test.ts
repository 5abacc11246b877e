import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readTraceParent, toTraceParent } from '../../../ts/metrics/request-record.js';

const test = suite('unit: traceparent');

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

test('is read, and written as it was', () => {
  const header = `00-${TRACE}-${SPAN}-01`;
  const read = readTraceParent(header);
  assert.equal(read, { traceId: TRACE, spanId: SPAN, flags: 1 });
  assert.is(read && toTraceParent(read), header);
});

test('a later version may say more', () => {
  const wanted = { traceId: TRACE, spanId: SPAN, flags: 0 };
  assert.equal(readTraceParent(`cc-${TRACE}-${SPAN}-00`), wanted);
  assert.equal(readTraceParent(`cc-${TRACE}-${SPAN}-00-what-there-will-be`), wanted);
});

const REFUSED: (string | string[] | undefined)[] = [
  undefined,
  '',
  'x',
  `ff-${TRACE}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01-more`,
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-1`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE}0-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  `0g-${TRACE}-${SPAN}-01`,
  `cc-${TRACE}-${SPAN}-01\n`,
  `cc-${TRACE}-${SPAN}-01-${'x'.repeat(1000)}`,
  [`00-${TRACE}-${SPAN}-01`],
];

for (const header of REFUSED) {
  test(`is none: ${JSON.stringify(header)?.slice(0, 80)}`, () => assert.is(readTraceParent(header), null));
}

test.run();
