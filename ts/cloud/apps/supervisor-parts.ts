/** What the supervisor works with. */
import type { ImageHosts } from '../../images/public-address.js';
import type { Podman } from '../runners/podman.js';
import type { IsolationName, RunnerCommand } from '../runners/runner-process.js';
import type { AppStore } from './app-store.js';
import type { WeightStore } from './weights.js';

export interface SupervisorParts {
  readonly store: AppStore;
  readonly weights: WeightStore;
  /** The values of an organisation's secrets that have these names. */
  secrets(org: string, names: readonly string[]): Readonly<Record<string, string>>;
  /** Called when the disk is full. Returns how many bytes it made free. */
  makeRoom(): number;
  /** Where models may come from that are deployed from elsewhere; default: from public addresses. */
  readonly modelHosts?: ImageHosts;
  readonly command: RunnerCommand;
  /** Where new runners are started. Those that are found again stay where they are. */
  readonly isolation: IsolationName;
  readonly podman: Podman;
  /** Where runners have their sockets; short, because the paths of sockets are. */
  readonly runFolder: string;
  readonly logFolder: string;
  /** A folder in it for each app, where its runners keep responses. */
  readonly responsesFolder: string;
  /** What all runners may take. */
  readonly budgetBytes: number;
  /** Whether runners end with this process, even when it is killed. */
  readonly endsWithParent: boolean;
  /** Told what happens, in a line for people. */
  onEvent?(line: string): void;
}
