/** Programs for Linux on arm64, run by QEMU. */
import path from 'node:path';
import { root } from './places.js';

export const ARM64 = {
  toolchain: path.join(root, 'native', 'tooling', 'linux-arm64.cmake'),
  /**
   * Runs a program with the libraries of Debian's cross compiler, on a processor with SVE vectors of 128 bits, as Graviton 4
   * and Grace have.
   */
  emulator: [
    'qemu-aarch64-static',
    ...['-L', '/usr/aarch64-linux-gnu'],
    ...['-cpu', 'max,sve-default-vector-length=16'],
  ] as const,
};
