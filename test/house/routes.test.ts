// Only what speaks HTTP knows its paths: what lies below serves programs that load a library as well.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { testApp } from '../support/build-app.ts';
import { MODES, PROFILES } from '../support/modes.ts';
import { files, offences } from './source-tree.ts';

/** The folders that speak HTTP, or that are clients of it. */
const SPEAKS = /^ts\/(api|http|desktop|cloud|server|cli|library)\/|^ts\/(cli|index)\.ts$/;
/** Other folders with paths, and the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'ts/metrics/spans.ts': 'spans of requests are named by their endpoints',
};

/** Of every mode, with the routes of a library that clients may change; without parameters and the root. */
async function registeredPaths(): Promise<string[]> {
  const paths = new Set<string>();
  const nothing = async () => undefined;
  for (const mode of MODES) {
    const deployed = mode === 'serverless' ? { deployment: { org: 'o', app: 'a' }, access: 'public' as const } : {};
    const { app } = testApp({}, { library: { pull: nothing, remove: nothing }, ...deployed }, PROFILES[mode]);
    app.addHook('onRoute', ({ url }) => void paths.add(url.replace(/^\/o\/a(?=\/)/, '').replace(/\/[:*].*/, '')));
    await app.ready();
    await app.close();
  }
  return [...paths].filter((path) => path.length > 1);
}

const lower = [...files('ts', /\.(ts|mjs)$/).filter((file) => !SPEAKS.test(file)), ...files('native', /\.(cpp|h)$/)];

test('there is something to look for, and where', async () => {
  const paths = await registeredPaths();
  for (const path of ['/v1/chat/completions', '/v1/responses', '/api/chat', '/api/pull', '/health', '/tokenize']) {
    assert.ok(paths.includes(path), `${path} in ${paths.join(' ')}`);
  }
  assert.ok(lower.includes('ts/engine/model.ts') && lower.includes('native/engine.cpp'));
});

test('below HTTP nobody names the path of a route', async () => {
  const escaped = (await registeredPaths()).map((path) => path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  // In quotes of any kind, perhaps after a method: `POST /v1/rerank`.
  const named = new RegExp(`['"\`]([A-Z]+ )?(${escaped.join('|')})([/?'"\`\\\\]|$)`);
  const found = offences(lower, (line) => named.test(line.replace(/^\s*(\/\/|\*|\/\*).*/, '')));
  assert.equal(
    found.filter((each) => !Object.hasOwn(EXCEPTIONS, each.replace(/:.*/, ''))),
    [],
  );
  const excused = Object.keys(EXCEPTIONS).filter((file) => !found.some((each) => each.startsWith(`${file}:`)));
  assert.equal(excused, [], 'exceptions that are none any more');
});

test.run();
