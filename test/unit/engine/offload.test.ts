import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type OffloadOptions, readOffload } from '../../../ts/engine/offload.js';
import { ChasquiError } from '../../../ts/errors.js';

const test = suite('offload: options');
const nothingSaid = {
  devices: null,
  gpuLayers: null,
  splitMode: 'layer',
  mainGpu: null,
  tensorSplit: [],
  overrides: [],
};

const READ: [options: OffloadOptions, differs: object][] = [
  [{}, {}],
  [{ device: 'none' }, { devices: [] }],
  [{ device: ['none'] }, { devices: [] }],
  [{ device: 'CUDA0' }, { devices: ['CUDA0'] }],
  [{ device: 'CUDA1,CUDA0' }, { devices: ['CUDA1', 'CUDA0'] }],
  [{ device: ['CUDA1', 'CUDA0'] }, { devices: ['CUDA1', 'CUDA0'] }],
  [{ gpuLayers: 0 }, { gpuLayers: 0 }],
  [{ gpuLayers: 33 }, { gpuLayers: 33 }],
  [{ gpuLayers: 'all' }, {}],
  [{ gpuLayers: 'auto' }, {}],
  [
    { splitMode: 'none', mainGpu: 1 },
    { splitMode: 'none', mainGpu: 1 },
  ],
  [{ splitMode: 'row' }, { splitMode: 'row' }],
  [{ tensorSplit: [3, 0, 0.5] }, { tensorSplit: [3, 0, 0.5] }],
];

for (const [options, differs] of READ) {
  test(`reads ${JSON.stringify(options)}`, () => assert.equal(readOffload(options), { ...nothingSaid, ...differs }));
}

const REFUSED: Record<string, readonly unknown[]> = {
  device: ['', 'CUDA0,', ',', [], [''], [3], 3, null, 'none,CUDA0', ['none', 'CUDA0']],
  gpuLayers: [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, '3', 'most', null],
  splitMode: ['tensor', '', 3, null],
  mainGpu: [-1, 0.5, '0', null, 2 ** 31],
  tensorSplit: [[-1], [Number.NaN], [0, 0], ['3'], [1e39], [3e38, 3e38], [1e-60], '3,1', 3, null],
  fitTargetMiB: [-1, 0.5, '1024', null, Number.NaN],
};

for (const [name, values] of Object.entries(REFUSED)) {
  for (const value of values) {
    test(`refuses ${name} ${typeof value === 'number' ? value : JSON.stringify(value)}`, () => {
      try {
        readOffload({ [name]: value } as OffloadOptions);
      } catch (error) {
        assert.instance(error, ChasquiError);
        assert.is((error as ChasquiError).code, 'invalid_options');
        assert.match((error as ChasquiError).message, `\`${name}\` is `);
        return;
      }
      assert.unreachable();
    });
  }
}

test.run();
