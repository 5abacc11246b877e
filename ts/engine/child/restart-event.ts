/** What is told when one of an engine's processes has ended, or could not be started. */
import { ChasquiError, ERRORS } from '../../errors.js';
import type { EngineEnd } from './start-child.js';

export interface RestartEvent {
  process: 'engine' | 'preparation';
  end: EngineEnd;
  /** `null`: it is not started again. */
  afterMs: number | null;
}

/** The error's own message may hold paths, which clients are not told. */
export function failedStart(error: unknown): EngineEnd {
  const isOfModel = error instanceof ChasquiError && error.code !== 'model_load_failed';
  const why = isOfModel ? `: ${ERRORS[error.code].meaning.replace(/\.$/, '')}` : '';
  const said = (error as Error).message;
  return { cause: 'crashed', message: `it could not be started again${why}`, said, signal: null, exitCode: null };
}
