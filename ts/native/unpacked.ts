/** Files that native code opens. Electron reads files inside an ASAR archive; dynamic linkers and `mmap` cannot. */
import { existsSync } from 'node:fs';

/** Returns the path of the copy that packaging tools place beside the archive, if there is one. */
export function unpacked(file: string): string {
  const copy = file.replace(/([\\/])app\.asar(?=[\\/])/, '$1app.asar.unpacked');
  return existsSync(copy) ? copy : file;
}
