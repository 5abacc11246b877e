/** What a runner writes on its control socket → its status. A runner computes for strangers, and may be in their hands. */
import { Ajv } from 'ajv';
import type { RunnerStatus } from './protocol.js';

const TEXT = { type: 'string' };

/** What a later version adds to it is no concern of this one. */
const isStatus = new Ajv({ strict: true }).compile<RunnerStatus>({
  type: 'object',
  required: ['bootId', 'pid', 'state', 'fraction', 'models', 'failure'],
  properties: {
    bootId: TEXT,
    // The numbers below mean groups of processes.
    pid: { type: 'integer', minimum: 1 },
    state: { enum: ['loading', 'ready', 'draining', 'failed'] },
    fraction: { type: 'number' },
    models: {
      type: 'array',
      items: {
        type: 'object',
        required: ['id', 'generates', 'pooling'],
        properties: { id: TEXT, generates: { type: 'boolean' }, pooling: TEXT },
      },
    },
    failure: {
      type: 'object',
      nullable: true,
      required: ['code', 'message'],
      properties: { code: TEXT, message: TEXT },
    },
  },
});

/** Returns null for a line that no runner writes. */
export function readStatus(line: string): RunnerStatus | null {
  try {
    const said: unknown = JSON.parse(line);
    return isStatus(said) ? said : null;
  } catch {
    return null;
  }
}
