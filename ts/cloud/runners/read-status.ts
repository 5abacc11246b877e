/** Validates the status lines of a runner, which may be compromised. */
import { Ajv } from 'ajv';
import { FAST_SCHEMAS } from '../../options/fast-schemas.js';
import type { RunnerStatus } from './protocol.js';

const TEXT = { type: 'string' };

/** Allows additional fields of later versions. */
const isStatus = new Ajv(FAST_SCHEMAS).compile<RunnerStatus>({
  type: 'object',
  required: ['bootId', 'pid', 'state', 'fraction', 'models', 'failure'],
  properties: {
    bootId: TEXT,
    // 0 and negative numbers mean process groups in kill(2).
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

export function readStatus(line: string): RunnerStatus | null {
  try {
    const status: unknown = JSON.parse(line);
    return isStatus(status) ? status : null;
  } catch {
    return null;
  }
}
