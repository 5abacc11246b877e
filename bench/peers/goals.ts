/** The figures of a row: medians over the rounds. A ratio is the median of the ratios of the rounds. */
export interface Measured {
  /** The limit of the machine. */
  machine?: number;
  oursToMachine?: number;
  loop?: number;
  server: number;
  ours: number;
  oursToLoop?: number;
  oursToServer: number;
}

export interface Goal {
  text: string;
  isReached(measured: Measured): boolean;
}

export function atLeastOfMachine(ratio: number): Goal {
  return { text: `≥ ${ratio} × machine limit`, isReached: ({ oursToMachine }) => (oursToMachine ?? 0) >= ratio };
}

export function atLeastOfLoop(ratio: number): Goal {
  return { text: `≥ ${ratio} × loop`, isReached: ({ oursToLoop }) => (oursToLoop ?? 0) >= ratio };
}

export function atLeastOfServer(ratio: number): Goal {
  return { text: `≥ ${ratio} × llama-server`, isReached: ({ oursToServer }) => oursToServer >= ratio };
}

/** @param unit empty for shares */
export function atMost(limit: number, unit: 's' | 'µs' | '' = 's'): Goal {
  return { text: `≤ ${limit} ${unit}`.trim(), isReached: ({ ours }) => ours <= limit };
}

export function atMostOfServer(ratio: number): Goal {
  return { text: `≤ ${ratio} × llama-server`, isReached: ({ oursToServer }) => oursToServer <= ratio };
}

export function noMoreMemoryThan(ratio: number, extraMegabytes: number): Goal {
  return {
    text: `≤ ${ratio} × llama-server + ${extraMegabytes} MB`,
    isReached: ({ ours, server }) => ours <= ratio * server + extraMegabytes,
  };
}
