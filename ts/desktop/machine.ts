/** The memory and GPUs of this computer. */
import os from 'node:os';
import { exactFit } from '../hub/exact-fit.js';
import { type Machine, machineWithoutGpus } from '../hub/fit.js';
import type { Machine as ShownMachine } from './api-types.js';

export class MachineWatch {
  #gpus: Machine['gpus'] = [];

  /** Asks the drivers in a separate process, which needs a model. */
  async learnGpus(anyModel: string): Promise<void> {
    const { devices } = await exactFit({ path: anyModel, projector: null }, 256);
    this.#gpus = devices
      .filter(({ name }) => name !== '')
      .map(({ name, haveBytes }) => ({ name, freeBytes: haveBytes, totalBytes: haveBytes }));
  }

  /** The GPUs as first detected: detecting again takes GPU memory, which a running model may need. */
  get now(): Machine {
    return { ...machineWithoutGpus(), gpus: this.#gpus };
  }

  get shown(): ShownMachine {
    const { freeBytes, totalBytes, gpus } = this.now;
    return {
      memoryBytes: totalBytes,
      freeBytes,
      cores: os.availableParallelism(),
      gpus: gpus.map(({ name, totalBytes: memoryBytes }) => ({ name, memoryBytes })),
    };
  }
}
