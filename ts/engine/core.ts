/**
 * The interface of a `Model` to the code that computes. `local/` runs it in this process, `child/` in others. Arguments and results
 * are plain data, or handles that the model only hands back.
 */
import type { NativeConstraint, NativeJob, NativeReplyDelta, NativeReplyFormat } from '../native/addon.js';
import type { Caller } from './calls.js';
import type { JobControl } from './engine-types.js';

/** A native job, and the format of its completion; `null`: plain text. */
export interface CoreJob extends NativeJob {
  format: NativeReplyFormat | null;
}

/** The growth of one completion in one wake. */
export interface ParsedText {
  deltas: NativeReplyDelta[];
  /** On the last one. */
  reasoningTokens?: number;
}

/**
 * Flags of a record besides the addon's: the record's text is all that the completion grew by, as content or as reasoning.
 * Nearly every token is like that, and a flag is far cheaper to send than a list of deltas.
 */
export const GROWTH_FLAGS = { content: 16, reasoning: 32 } as const;

/**
 * The events since the last call, as `OnEvents` of the addon has them. `records` and `parsed` are reused: read both before
 * returning. `parsed` is keyed by the index of a job's last record; records with a growth flag are not in it.
 */
export type OnCoreEvents = (
  records: Int32Array,
  count: number,
  text: string,
  extras: readonly unknown[],
  parsed?: ReadonlyMap<number, ParsedText>,
) => void;

export interface EngineCore extends Caller {
  /** Throws errors in the job, or reports them as its failure. */
  submit(job: CoreJob, constraint: NativeConstraint | null): void;
  pause(jobId: number, paused: boolean): void;
  cancel(jobId: number): void;
  control(jobId: number, action: JobControl): void;
  close(): Promise<void>;
}
