import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChasquiError } from '../../../ts/errors.js';
import { refuseOtherBackend } from '../../../ts/native/backends.js';

const test = suite('unit: backends of a process');

const cpu = { backend: 'cpu' } as const;
const cuda = { backend: 'cuda' } as const;

test('a process computes with one backend', () => {
  refuseOtherBackend([cpu], [cpu]);
  refuseOtherBackend([cuda, cpu], [cuda, cpu]);
  for (const [used, wanted, names] of [
    [[cpu], [cuda, cpu], /`cpu`, so `cuda` cannot/],
    [[cuda, cpu], [cpu], /`cuda`, so `cpu` cannot/],
  ] as const) {
    assert.throws(
      () => refuseOtherBackend(used, wanted),
      ({ code, message }: ChasquiError) => code === 'backend_unavailable' && names.test(message),
    );
  }
});

test.run();
