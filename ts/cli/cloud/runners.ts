/** `chasqui runners`: the processes that serve apps. */
import { Command } from 'commander';
import type { RunnerView } from '../../cloud/apps/views.js';
import { common, runnerTable, type Target, withTarget } from './apps.js';
import { print, withHelp } from './outcome.js';

type Parsed = Readonly<Record<string, unknown>>;

export function runnersCommand(): Command {
  return withHelp(new Command('runners'))
    .description('List the runners of all apps, and stop one.')
    .addCommand(
      common('list', 'List the runners.').action((parsed: Parsed) =>
        withTarget(parsed, (target) => list(target, parsed)),
      ),
    )
    .addCommand(
      common('stop', 'Stop a runner after its running requests.')
        .argument('<id>', 'Runner id, as listed')
        .action((id: string, parsed: Parsed) => withTarget(parsed, (target) => stop(target, id))),
    );
}

async function list({ cloud, json }: Target, parsed: Parsed): Promise<void> {
  const { runners: all } = await cloud.get<{ runners: RunnerView[] }>('/runners');
  const runners = all.filter(({ org }) => parsed.org === undefined || org === parsed.org);
  print(json, runners, runners.length === 0 ? 'No runners.' : runnerTable(runners));
}

async function stop({ cloud, json }: Target, id: string): Promise<void> {
  const reply = await cloud.delete(`/runners/${encodeURIComponent(id)}`);
  print(json, reply, `The runner ${id} accepts no more requests.`);
}
