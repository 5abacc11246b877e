/** Starts the app at login, without a window. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ChasquiError } from '../errors.js';

export interface LoginStart {
  /** Program and arguments. */
  command: readonly string[];
  platform: NodeJS.Platform;
  /** Home folder, and folder of settings. */
  home: string;
  config: string;
}

/** @throws {ChasquiError} `store_failed` */
export function setLoginStart(login: LoginStart, isOn: boolean): void {
  try {
    if (login.platform === 'win32') setRunKey(login, isOn);
    else setEntry(login, isOn);
  } catch (error) {
    const reason = (error as Error).message;
    throw new ChasquiError('store_failed', `Could not change the start at login: ${reason}.`, 'startAtLogin', {
      cause: error,
    });
  }
}

export function isLoginStart(login: LoginStart): boolean {
  return login.platform === 'win32' ? hasRunKey() : existsSync(entryOf(login).file);
}

function setEntry(login: LoginStart, isOn: boolean): void {
  const { file, text } = entryOf(login);
  if (!isOn) {
    rmSync(file, { force: true });
    return;
  }
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Uses autostart entries, which every desktop reads; a systemd unit would lack the desktop session. */
function entryOf({ command, platform, home, config }: LoginStart): { file: string; text: string } {
  if (platform === 'darwin') {
    return { file: path.join(home, 'Library', 'LaunchAgents', 'chasqui.desktop.plist'), text: toPlist(command) };
  }
  const text = [
    '[Desktop Entry]',
    'Type=Application',
    'Name=chasqui',
    'Comment=Local language models',
    `Exec=${command.map(quoteForDesktop).join(' ')}`,
    'Terminal=false',
    'X-GNOME-Autostart-enabled=true',
    '',
  ];
  return { file: path.join(config, 'autostart', 'chasqui.desktop'), text: text.join('\n') };
}

function toPlist(command: readonly string[]): string {
  const lines = command.map((part) => `    <string>${escapeXml(part)}</string>`).join('\n');
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>chasqui.desktop</string>
  <key>ProgramArguments</key>
  <array>
${lines}
  </array>
  <key>RunAtLoad</key>
  <true/>
</dict>
</plist>
`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Quotes arguments as in the Desktop Entry Specification; `%` would start a field code. */
export function quoteForDesktop(text: string): string {
  return `"${text
    .replace(/[\\"`$]/g, (sign) => `\\${sign}`)
    .replaceAll('\\', '\\\\')
    .replaceAll('%', '%%')}"`;
}

const RUN_KEY = String.raw`HKCU\Software\Microsoft\Windows\CurrentVersion\Run`;

function setRunKey({ command }: LoginStart, isOn: boolean): void {
  const line = command.map((part) => `"${part}"`).join(' ');
  if (isOn) execFileSync('reg', ['add', RUN_KEY, '/v', 'chasqui', '/t', 'REG_SZ', '/d', line, '/f']);
  else if (hasRunKey()) execFileSync('reg', ['delete', RUN_KEY, '/v', 'chasqui', '/f']);
}

function hasRunKey(): boolean {
  try {
    execFileSync('reg', ['query', RUN_KEY, '/v', 'chasqui'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
