/** What this computer has for models. */
import os from 'node:os';
import { exactFit } from '../hub/exact-fit.js';
import { type Machine, machineWithoutGpus } from '../hub/fit.js';
import type { Machine as ShownMachine } from './api-types.js';

export class MachineWatch {
  #gpus: Machine['gpus'] = [];

  /** Only the drivers know the GPUs, and those are asked in a process of its own, by means of any model. */
  async learnGpus(anyModel: string): Promise<void> {
    const { devices } = await exactFit({ path: anyModel, projector: null }, 256);
    this.#gpus = devices
      .filter(({ name }) => name !== '')
      .map(({ name, haveBytes }) => ({ name, freeBytes: haveBytes, totalBytes: haveBytes }));
  }

  /** GPUs as they were when they were asked: to ask again takes memory on them, which a model that runs may need. */
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
