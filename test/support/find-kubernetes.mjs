// Where the programs of a Kubernetes API are that tests can start; test/run.mjs asks as well, before it starts them.
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';

/** As a release of Kubernetes has them. */
const PROGRAMS = ['etcd', 'kube-apiserver', 'kube-controller-manager'];

/** Nobody packages them whole: Debian 13 leaves them out of Kubernetes' source, and Debian 12 has one that is too old. */
export function kubernetesFolder() {
  const folder = process.env.CHASQUI_KUBERNETES;
  const isWhole = folder && PROGRAMS.every((name) => fs.existsSync(path.join(folder, name)));
  return isWhole ? folder : undefined;
}
