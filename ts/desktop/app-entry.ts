/** The menu entry and icon of the app on a Linux desktop. */
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { unsupportedParameter } from '../errors.js';
import { quoteForDesktop } from './login-start.js';

export interface AppEntry {
  /** Program and arguments. */
  command: readonly string[];
  platform: NodeJS.Platform;
  /** `XDG_DATA_HOME` */
  data: string;
  /** SVG source. */
  icon: string;
}

/** Returns the path of the entry. Idempotent. @throws {ChasquiError} `unsupported_parameter` */
export function installEntry(entry: AppEntry): string {
  const { file, icon } = placesOf(entry);
  for (const each of [file, icon]) mkdirSync(path.dirname(each), { recursive: true });
  if (existsSync(entry.icon)) copyFileSync(entry.icon, icon);
  writeFileSync(file, entryText(entry.command, existsSync(icon) ? icon : null));
  return file;
}

/** `icon`: a file, or a name in the icon theme. */
export function entryText(command: readonly string[], icon: string | null): string {
  return [
    '[Desktop Entry]',
    'Type=Application',
    'Name=chasqui',
    'GenericName=Local language models',
    'Comment=Find models, chat with them, serve them to other programs',
    `Exec=${command.map(quoteForDesktop).join(' ')}`,
    ...(icon === null ? [] : [`Icon=${icon}`]),
    'Terminal=false',
    'Categories=Development;Utility;',
    'Keywords=LLM;AI;chat;llama;',
    '',
  ].join('\n');
}

export function removeEntry(entry: AppEntry): string {
  const { file, icon } = placesOf(entry);
  for (const each of [file, icon]) rmSync(each, { force: true });
  return file;
}

function placesOf({ platform, data }: AppEntry): { file: string; icon: string } {
  if (platform !== 'linux') {
    throw unsupportedParameter('A menu entry is supported on Linux only.', 'install');
  }
  return {
    file: path.join(data, 'applications', 'chasqui.desktop'),
    icon: path.join(data, 'icons', 'hicolor', 'scalable', 'apps', 'chasqui.svg'),
  };
}
