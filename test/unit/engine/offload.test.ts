import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { completeLoadOptions, type LoadOptions } from '../../../ts/engine/load-options.js';
import { toNativeOffload } from '../../../ts/engine/offload.js';
import { ChasquiError } from '../../../ts/errors.js';

const test = suite('offload: options');
const nothingSaid = {
  devices: null,
  gpuLayers: null,
  draftDevices: null,
  draftGpuLayers: null,
  splitMode: 'layer',
  mainGpu: null,
  tensorSplit: [],
  overrides: [],
};

const EXPERTS = String.raw`\.ffn_(up|down|gate|gate_up)_(ch|)exps`;

const read = (options: LoadOptions) => toNativeOffload(completeLoadOptions(options));

const READ: [options: LoadOptions, differs: object][] = [
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
  [{ draftDevice: 'CUDA1,CUDA0' }, { draftDevices: ['CUDA1', 'CUDA0'] }],
  [{ draftDevice: 'none' }, { draftDevices: [] }],
  [{ draftGpuLayers: 4 }, { draftGpuLayers: 4 }],
  [{ draftGpuLayers: 'auto' }, {}],
  [{ tensorSplit: [3, 0, 0.5] }, { tensorSplit: [3, 0, 0.5] }],
  [{ cpuMoe: true, cpuMoeLayers: 3 }, { overrides: [{ tensors: EXPERTS, device: '' }] }],
  [
    { cpuMoeLayers: 2 },
    {
      overrides: [
        { tensors: `blk\\.0${EXPERTS}`, device: '' },
        { tensors: `blk\\.1${EXPERTS}`, device: '' },
      ],
    },
  ],
  [
    { overrideTensor: ['attn=CPU,ffn_up=CUDA1', 'ffn=CUDA0'], cpuMoe: true },
    {
      overrides: [
        { tensors: 'attn', device: '' },
        { tensors: 'ffn_up', device: 'CUDA1' },
        { tensors: 'ffn', device: 'CUDA0' },
        { tensors: EXPERTS, device: '' },
      ],
    },
  ],
];

for (const [options, differs] of READ) {
  test(`reads ${JSON.stringify(options)}`, () => assert.equal(read(options), { ...nothingSaid, ...differs }));
}

for (const device of ['none,CUDA0', ['none', 'CUDA0']]) {
  test(`refuses device ${JSON.stringify(device)}`, () => {
    try {
      read({ device });
    } catch (error) {
      assert.instance(error, ChasquiError);
      assert.is((error as ChasquiError).code, 'invalid_options');
      assert.match((error as ChasquiError).message, '`device` is none,CUDA0');
      return;
    }
    assert.unreachable();
  });
}

test.run();
