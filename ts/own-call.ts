/** The command that starts chasqui on this machine, for messages that suggest one. */
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

interface Start {
  environment: NodeJS.ProcessEnv;
  /** Folder of the package. */
  root: string;
  /** The Node.js executable. */
  node: string;
}

/** `npx chasqui`, `chasqui` if that is installed, its path in an unpacked archive, or `node dist/cli.js` in a clone. */
export function ownCall({
  environment = process.env,
  root = fileURLToPath(new URL('../', import.meta.url)),
  node = process.execPath,
}: Partial<Start> = {}): string {
  // npx identifies itself in the environment.
  if (environment.npm_command === 'exec') return 'npx chasqui';
  if (!root.split(path.sep).includes('node_modules'))
    return `node ${path.relative('', path.join(root, 'dist/cli.js'))}`;
  // npm adds the folders of a project's packages to the path of scripts, which a terminal does not have.
  const folders = (environment.PATH ?? '').split(path.delimiter).filter((each) => !each.endsWith('.bin'));
  if (folders.some((each) => isProgram(path.join(each, 'chasqui')))) return 'chasqui';
  const launcher = path.join(path.dirname(node), 'chasqui');
  return isProgram(launcher) ? launcher : 'npx chasqui';
}

function isProgram(file: string): boolean {
  const names = process.platform === 'win32' ? [`${file}.cmd`, `${file}.exe`] : [file];
  return names.some((name) => {
    try {
      accessSync(name, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
