/** A certificate that signs itself, for 127.0.0.1. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';

/** Returns the paths of its two files. */
export function makeCertificate(folder: string, name: string): { cert: string; key: string } {
  const [cert, key] = [path.join(folder, `${name}.crt`), path.join(folder, `${name}.key`)];
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'];
  const options = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', ...options, '-out', cert, '-keyout', key, ...subject], { stdio: 'ignore' });
  return { cert, key };
}
