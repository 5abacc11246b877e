// Finds the programs of a Kubernetes API server. test/run.mjs uses this too.
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';

/** As a release of Kubernetes has them. */
const PROGRAMS = ['etcd', 'kube-apiserver', 'kube-controller-manager'];

/** No Debian package contains all of them: Debian 13 omits them, and the version in Debian 12 is too old. */
export function kubernetesFolder() {
  const folder = process.env.CHASQUI_KUBERNETES;
  const isWhole = folder && PROGRAMS.every((name) => fs.existsSync(path.join(folder, name)));
  return isWhole ? folder : undefined;
}
