import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isDataUri, parseDataUri } from '../../../ts/images/data-uri.js';
import { ImageError } from '../../../ts/images/image-error.js';

const test = suite('unit: data URIs');

const PNG = 'data:image/png;base64,';

test('a data URI is its bytes, whatever type it declares', () => {
  assert.equal(parseDataUri(`${PNG}aGk=`), Buffer.from('hi'));
  for (const head of [
    'DATA:Image/JPEG;BASE64',
    'data:;base64',
    'data:image/png;x=y;base64',
    'data:text/plain;base64',
  ]) {
    assert.equal(parseDataUri(`${head},AAEC`), Buffer.from([0, 1, 2]), head);
  }
  assert.equal(parseDataUri(`${PNG}+/+/`), Buffer.from([0xfb, 0xff, 0xbf]));
});

test('forms of data URIs', () => {
  assert.ok(isDataUri('data:') && isDataUri('Data:x'));
  assert.not.ok(isDataUri('https://example.com/data:x') || isDataUri(' data:'));
});

const REFUSED: [name: string, uri: string, says: RegExp][] = [
  ['no data', PNG, /empty/],
  ['no comma', 'data:image/png;base64', /must have the form/],
  ['not base64', 'data:image/png,hello', /must have the form/],
  ['a space in the type', 'data:image/ png;base64,aGk=', /must have the form/],
  ['a head without end', `data:${'x'.repeat(100_000)};base64,aGk=`, /must have the form/],
  ['a line break within', `${PNG}aG\nk=`, /not proper base64/],
  ['a line break at the end', `${PNG}aGk=\n`, /not proper base64/],
  ['a space', `${PNG}aG k=`, /not proper base64/],
  ['padding missing', `${PNG}aGk`, /not proper base64/],
  ['padding too long', `${PNG}aGk==`, /not proper base64/],
  ['padding in the middle', `${PNG}aGk=aGk=`, /not proper base64/],
  ['padding alone', `${PNG}====`, /not proper base64/],
  ['bits left over', `${PNG}aGl=`, /not proper base64/],
  ['the alphabet of URLs', `${PNG}-_-_`, /not proper base64/],
  ['percent-encoded', `${PNG}aGk%3D`, /not proper base64/],
  ['other letters', `${PNG}aGé=`, /not proper base64/],
];

for (const [name, uri, says] of REFUSED) {
  test(`refuses: ${name}`, () => {
    assert.throws(
      () => parseDataUri(uri),
      (fault: unknown) => fault instanceof ImageError && fault.code === 'invalid_image_url' && says.test(fault.message),
    );
  });
}

test('20 MiB and not a byte more', () => {
  const uri = (size: number) => `${PNG}${Buffer.alloc(size).toString('base64')}`;
  const limit = 20 * 1024 * 1024;
  assert.is(parseDataUri(uri(limit)).length, limit);
  assert.throws(
    () => parseDataUri(uri(limit + 3)),
    (fault: unknown) => fault instanceof ImageError && fault.code === 'image_too_large',
  );
});

test.run();
