import { test } from 'uvu';
import * as assert from 'uvu/assert';
// @ts-expect-error: plain JavaScript, because it runs before TypeScript is installed
import { BuildProgress, stepsOf } from '../../native/tooling/build-progress.mjs';

const LARGE = 'llama.cpp/src/CMakeFiles/llama.dir/Unity/unity_1_cxx.cxx.o';
const SMALL = 'CMakeFiles/engine-core.dir/native/core/job.cpp.o';
const LIBRARY = 'llama.cpp/src/libllama.a';

test('large steps count for more than small ones', () => {
  let now = 0;
  const progress = new BuildProgress([SMALL, LARGE, LIBRARY], () => now);
  now = 10_000;
  assert.is(progress.add(`[1/3] Building CXX object ${SMALL}`), '16 %, about 1 min left (job.cpp)');
  now = 60_000;
  assert.is(progress.add(`[2/3] Building CXX object ${LARGE}`), '98 %, less than a minute left (unity_1_cxx.cxx)');
  assert.is(progress.add(`[3/3] Linking CXX static library ${LIBRARY}`), '100 % (libllama.a)');
});

test('unexpected steps are counted by their number', () => {
  let now = 0;
  const progress = new BuildProgress([], () => now);
  now = 60_000;
  assert.is(progress.add(`[1/4] Building CXX object ${LARGE}`), '25 %, about 3 min left (unity_1_cxx.cxx)');
});

test('make says its own share', () => {
  let now = 0;
  const progress = new BuildProgress([], () => now);
  now = 120_000;
  assert.is(progress.add('[ 50%] Building CXX object a.o'), '50 %, about 2 min left');
  assert.is(progress.add('[100%] Built target addon'), '100 %');
});

test('of a first step no time is told, and of other lines nothing', () => {
  const progress = new BuildProgress([SMALL, ...Array(20).fill(LARGE)]);
  assert.is(progress.add(`[1/21] Building CXX object ${SMALL}`), '0 % (job.cpp)');
  assert.is(progress.add('[0/2] Re-checking globbed directories...'), undefined);
  assert.is(progress.add('warning: something'), undefined);
});

test('a folder that ninja knows nothing of has no steps', () => {
  assert.equal(stepsOf('/nowhere'), []);
});

test.run();
