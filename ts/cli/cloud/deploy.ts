/** `chasqui deploy app.ts::chat`: deploys an app of a script, or a new revision of it. */
import { Command } from 'commander';
import { addTableOptions } from '../options/table-options.js';
import { KUBERNETES_OPTIONS } from './kubernetes-option-table.js';
import { DEPLOY_OPTIONS } from './option-table.js';
import { ended, withHelp } from './outcome.js';

export function deployCommand(): Command {
  const command = withHelp(new Command('deploy'))
    .description('Deploy an app of a script to a cloud, or to Kubernetes.')
    .argument('<script>', 'Script and export, such as app.ts::chat')
    .action((entry: string, parsed: Readonly<Record<string, unknown>>) =>
      ended(async () => (await import('./deploy-app.js')).deployApp(entry, parsed)),
    );
  return addTableOptions(addTableOptions(command, DEPLOY_OPTIONS), KUBERNETES_OPTIONS);
}
