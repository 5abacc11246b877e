/** Certificates that sign themselves. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';

/** Returns the paths of the two files of a certificate for 127.0.0.1, or for `host`. */
export function makeCertificate(folder: string, name: string, host = 'IP:127.0.0.1'): { cert: string; key: string } {
  const [cert, key] = [path.join(folder, `${name}.crt`), path.join(folder, `${name}.key`)];
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${host}`];
  const options = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', ...options, '-out', cert, '-keyout', key, ...subject], { stdio: 'ignore' });
  return { cert, key };
}
