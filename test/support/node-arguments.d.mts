/** URL of the module that makes Node run TypeScript (`--import`). */
export const register: string;
export function usesDist(): boolean;
/** Arguments for Node to run a TypeScript file. A relative path is below the root of the clone: `ts/cli.ts`. */
export function nodeArguments(file: string): string[];
