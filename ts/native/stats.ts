/** Counters of an engine. */
export interface NativeStats {
  /** Sequences that hold a slot: in prefill, decoding, or paused for a slow reader. */
  active: number;
  /** Jobs waiting for a slot. */
  queued: number;
  /** KV cells of active sequences. */
  kvCellsUsed: number;
  /** KV cells of finished sequences, cached for prompts with the same prefix; evicted on demand. */
  kvCellsCached: number;
  kvCellsTotal: number;
  /** These and the following count since the engine started. */
  jobsFinished: number;
  jobsCancelled: number;
  promptTokens: number;
  completionTokens: number;
  /** Steps of sequences that verified a draft. */
  drafts: number;
  draftedTokens: number;
  acceptedTokens: number;
  decodeSteps: number;
  /** Sum of the sequences computed in each of these steps. */
  busySlots: number;
  /** Passes over the weights in these steps. A step takes several if llama.cpp splits it. */
  decodePasses: number;
  /** Milliseconds that these steps took together. */
  stepMs: number;
  preemptions: number;
  imagesEncoded: number;
  /** Tokens of embedded and ranked texts. */
  embeddedTokens: number;
  /** Steps that embedded or ranked texts, which `decodeSteps` does not include. */
  embeddingSteps: number;
  /** Tokens that were sampled outside of the step, because of a slow grammar. */
  sampledAside: number;
  /** Milliseconds since the running step began; 0: none is running. */
  stepAgeMs: number;
}
