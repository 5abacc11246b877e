import { Ajv } from 'ajv';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  anyObject,
  arrayOf,
  exactly,
  field,
  integer,
  limited,
  objectOf,
  oneOf,
  orNull,
  orString,
  pickFields,
  type Static,
  string,
} from '../../../ts/http/schema/json-schema.js';
import { textOrParts, variantsBy, withFields } from '../../../ts/http/schema/variants.js';

const test = suite('unit: builders of JSON schemas');

const thing = objectOf({ kind: exactly('thing'), name: string }, { size: orNull(integer) });
const place = objectOf({ kind: oneOf('town', 'village') });

/** Fails to compile unless both types are the same. */
type Same<One, Other> = (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false;
const same = <One, Other>(_same: Same<One, Other>) => undefined;

test('types follow schemas', () => {
  same<Static<typeof thing>, { kind: 'thing'; name: string; size?: number | null }>(true);
  same<Static<typeof place>, { kind: 'town' | 'village' }>(true);
  const either = variantsBy('kind', [thing, place]);
  same<Static<typeof either>, Static<typeof thing> | Static<typeof place>>(true);
  const text = orString(arrayOf(string));
  same<Static<typeof text>, string | string[]>(true);
  const parts = textOrParts([thing]);
  same<Static<typeof parts>, string | Static<typeof thing>[]>(true);
  const described = field('How many.', integer, { minimum: 1 });
  same<Static<typeof described>, number>(true);
});

test('an object without required fields demands none', () => {
  assert.equal(objectOf({}, { size: integer }), { type: 'object', properties: { size: { type: 'integer' } } });
  assert.equal(thing.required, ['kind', 'name']);
  assert.equal(Object.keys(pickFields(thing.properties, ['size', 'other'])), ['size']);
});

test('null is one more type, one more value, or one more schema', () => {
  assert.equal(orNull(string), { type: ['string', 'null'] });
  assert.equal(orNull(orNull(string)), { type: ['string', 'null'] });
  assert.equal(orNull(oneOf('a')), { enum: ['a', null] });
  assert.equal(orNull(exactly('a')), { anyOf: [{ const: 'a' }, { type: 'null' }] });
  assert.equal(orNull(orString(anyObject)), { type: ['string', 'object', 'null'] });
});

test('keywords of a field go before those of its schema', () => {
  const small = limited(integer, { maximum: 9 });
  assert.equal(field('A digit.', small, { maximum: 8 }), { description: 'A digit.', type: 'integer', maximum: 8 });
  assert.equal(integer, { type: 'integer' });
});

test('AJV reports what is wrong within the variant that was meant', () => {
  const either = withFields(variantsBy('kind', [thing, place]), objectOf({ id: string }));
  const ajv = new Ajv({ strict: true, strictRequired: false, allowUnionTypes: true, discriminator: true });
  const accepts = ajv.compile(either);
  const firstError = (value: unknown) =>
    accepts(value) ? null : `${accepts.errors?.[0]?.instancePath} ${accepts.errors?.[0]?.keyword}`;
  assert.is(firstError({ id: 'x', kind: 'thing', name: 'n' }), null);
  assert.is(firstError({ id: 'x', kind: 'village' }), null);
  assert.is(firstError({ id: 'x', kind: 'thing', name: 1 }), '/name type');
  assert.is(firstError({ id: 'x', kind: 'thing' }), ' required');
  assert.is(firstError({ id: 'x', kind: 'river' }), ' discriminator');
  assert.is(firstError({ kind: 'village' }), ' required');
});

test.run();
