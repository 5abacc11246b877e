export interface AgentPackage {
  name: string;
  version: string;
  /** Below `node_modules`. */
  bin: string;
}
export const AGENTS: Readonly<Record<'codex' | 'claudeCode' | 'opencode', AgentPackage>>;
export const UNSHARE: readonly string[];
export function agentsFolder(): string;
export function folderOf(agent: AgentPackage): string;
export function noAgents(): string | undefined;
