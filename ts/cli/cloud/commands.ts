/** The commands of a cloud, in the order of help. */
import type { Command } from 'commander';
import { appsCommand } from './apps.js';
import { budgetsCommand } from './budgets.js';
import { cloudCommand } from './cloud.js';
import { deployCommand } from './deploy.js';
import { loginCommand } from './login.js';
import { queueCommand } from './queue.js';
import { runCommand } from './run.js';
import { runnersCommand } from './runners.js';
import { secretsCommand } from './secrets.js';
import { usersCommand } from './users.js';

export function cloudCommands(): Command[] {
  return [
    runCommand(),
    deployCommand(),
    appsCommand(),
    runnersCommand(),
    queueCommand(),
    secretsCommand(),
    budgetsCommand(),
    usersCommand(),
    cloudCommand(),
    loginCommand(),
  ];
}
