/** Fields of all endpoints that determine how long a model stays loaded. */
import { field, integer, type StaticFields, typed } from '../../http/schema/json-schema.js';

/** The maximum of the server's option. */
export const MAX_KEEP_ALIVE_S = 1_000_000;
const MAX_DURATION_LENGTH = 64;

export const modelUseFields = {
  /** From Ollama. */
  keep_alive: field(
    'How long the idle model stays loaded: seconds, or a text such as `5m`; 0: not at all; -1: forever. Default: the option of the server.',
    // `keepMsOf` checks the maximum, so that numbers and texts have the same message.
    typed<number | string>({ type: ['number', 'string'], maxLength: MAX_DURATION_LENGTH }),
  ),
  /** From LM Studio. */
  ttl: field('The same in seconds; `keep_alive` has precedence.', integer, { minimum: -1, maximum: MAX_KEEP_ALIVE_S }),
};

export type ModelUse = StaticFields<Record<never, never>, typeof modelUseFields>;
