/**
 * What a `Model` needs of the code that computes. `local/` has it in this process, `child/` in a process of its own: all
 * arguments and results are plain data, or handles that the model only hands back.
 */
import type {
  NativeConstraint,
  NativeEngine,
  NativeJob,
  NativePreparer,
  NativeReplyDelta,
  NativeReplyFormat,
  NativeStats,
} from '../native/addon.js';

/** A job as the engine gets it, and how to parse its text; `null`: not at all. */
export interface CoreJob extends NativeJob {
  format: NativeReplyFormat | null;
}

/** What the text of a job came to in one wake. */
export interface ParsedText {
  deltas: NativeReplyDelta[];
  /** With the last of it. */
  reasoningTokens?: number;
}

/**
 * Flags of a record besides the addon's: its text is all that the job's completion grew by, as content or as reasoning.
 * Nearly every token is like that, and a flag costs far less on its way to another process than a list of deltas.
 */
export const GROWTH_FLAGS = { content: 16, reasoning: 32 } as const;

/**
 * Everything that happened since the last call, as `OnEvents` of the addon has it. `records` and `parsed` are reused, so
 * both must be read before returning. `parsed` is by the place of a job's last record, counted from 0; a record that has a
 * growth flag is not in it.
 */
export type OnCoreEvents = (
  records: Int32Array,
  count: number,
  text: string,
  extras: readonly unknown[],
  parsed?: ReadonlyMap<number, ParsedText>,
) => void;

/** What prepares requests without an engine, in a process of its own. */
export interface PreparationCore extends NativePreparer {}

export interface EngineCore
  extends Omit<NativeEngine, 'preparer' | 'info' | 'submit' | 'stats'>,
    Omit<NativePreparer, 'tokenizeTextPrompt'> {
  /** What is wrong with the job is thrown, or told as its failure. */
  submit(job: CoreJob, constraint: NativeConstraint | null): void;
  stats(): Promise<NativeStats>;
}
