/** One of an engine's processes has ended, or could not be started. */
import { ChasquiError, ERRORS } from '../../errors.js';
import type { EngineEnd } from './start-child.js';

export interface RestartEvent {
  process: 'engine' | 'preparation';
  end: EngineEnd;
  /** Until the next start; `null`: there is none. */
  afterMs: number | null;
}

/** Clients must not see the error's own message, which may contain paths. */
export function failedStart(error: unknown): EngineEnd {
  const isOfModel = error instanceof ChasquiError && !['model_load_failed', 'engine_failed'].includes(error.code);
  const why = isOfModel ? `: ${ERRORS[error.code].meaning.replace(/\.$/, '')}` : '';
  const said = (error as Error).message;
  return { cause: 'crashed', message: `it could not be started again${why}`, said, signal: null, exitCode: null };
}
