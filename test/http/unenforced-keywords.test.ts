// Keywords of tools' schemas that a format of calls does not enforce.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testApp } from '../support/build-app.js';

const test = suite('http: keywords that calls do not enforce');

test('keywords that the format of calls does not enforce are named by their places, and refused if strict', async () => {
  const { chat } = testApp({
    renderWith: () => ({ unenforcedKeywords: [{ tool: 'put', keywords: ['prefixItems'] }] }),
  });
  const list = { type: 'array', prefixItems: [{ type: 'string' }] };
  // A property may have the name of a keyword.
  const parameters = { type: 'object', properties: { list, prefixItems: { type: 'string' } } };
  const ask = (strict: boolean) =>
    chat({ tools: [{ type: 'function', function: { name: 'put', parameters, strict } }] });
  const place = 'tools[0].function.parameters.properties.list.prefixItems';
  const reply = await ask(false);
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(decodeURIComponent(String(reply.headers['x-chasqui-ignored'])), place);
  const refused = await ask(true);
  assert.equal([refused.statusCode, refused.json().error.param], [400, place]);
});

test('keywords of whole arguments are named only where they are about those', async () => {
  const unenforcedKeywords = ['f0', 'f1'].map((tool) => ({ tool, keywords: ['parameters.anyOf'] }));
  const { chat } = testApp({ renderWith: () => ({ unenforcedKeywords }) });
  const anyOf = [{ type: 'string' }, { type: 'null' }];
  const tools = [{ anyOf: [{ required: ['a'] }, { required: ['b'] }] }, { properties: { a: { anyOf } } }].map(
    (parameters, index) => ({ type: 'function', function: { name: `f${index}`, parameters, strict: index === 1 } }),
  );
  const reply = await chat({ tools });
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(decodeURIComponent(String(reply.headers['x-chasqui-ignored'])), 'tools[0].function.parameters.anyOf');
});

test('keywords are named only for the tool whose calls do not enforce them', async () => {
  const unenforcedKeywords = [{ tool: '__proto__', keywords: ['anyOf'] }];
  const { chat } = testApp({ renderWith: () => ({ unenforcedKeywords }) });
  const parameters = { type: 'object', properties: { a: { anyOf: [{ type: 'string' }, { type: 'null' }] } } };
  const tools = ['f', '__proto__'].map((name) => ({
    type: 'function',
    function: { name, parameters, strict: name === 'f' },
  }));
  const reply = await chat({ tools });
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(
    decodeURIComponent(String(reply.headers['x-chasqui-ignored'])),
    'tools[1].function.parameters.properties.a.anyOf',
  );
});

test.run();
