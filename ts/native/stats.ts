/** What an engine counts. */
export interface NativeStats {
  /** Sequences that hold a slot: in prefill, decoding, or paused for a slow reader. */
  active: number;
  /** Jobs waiting for a slot. */
  queued: number;
  /** KV cells of active sequences. */
  kvCellsUsed: number;
  /** KV cells whose sequences are over, kept for prompts that begin alike; given up when room is needed. */
  kvCellsCached: number;
  kvCellsTotal: number;
  /** These and the following count since the engine started. */
  jobsFinished: number;
  jobsCancelled: number;
  promptTokens: number;
  completionTokens: number;
  draftedTokens: number;
  acceptedTokens: number;
  decodeSteps: number;
  /** Milliseconds that these steps took together. */
  stepMs: number;
  /** How often a sequence lost its slot to another one. */
  preemptions: number;
  imagesEncoded: number;
  /** Tokens of texts that vectors or scores were computed of. */
  embeddedTokens: number;
  /** Tokens whose grammar took longer than a step can wait. */
  sampledAside: number;
  /** Milliseconds since the step that is under way began; 0 where none is. Steps end within seconds. */
  stepAgeMs: number;
}
