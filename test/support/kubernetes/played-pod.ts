/** The pod of an app's objects, run by `podman kube play`. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { KubernetesObject } from '../../../ts/cloud/kubernetes/kubernetes-app.js';
import { runCli } from '../child.js';
import { IMAGE, inspect, podman, podmanInNetwork } from '../container-image.js';

type Named = { name: string };
type Container = { name: string; volumeMounts: Named[] };
type Volume = Named & { secret?: object };
type Pod = { metadata: object; spec: { initContainers: Container[]; containers: Container[]; volumes: Volume[] } };

type Secret = KubernetesObject & { stringData?: Record<string, string> };

export interface Reply {
  /** 0: nobody listens. */
  status: number;
  text: string;
}

export class PlayedPod {
  readonly container: string;
  readonly #folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-pod-'));
  readonly #secrets: string[] = [];

  constructor(readonly name: string) {
    this.container = `${name}-runner`;
    // podman's default limits may exceed those of this machine, and a manifest cannot lower them.
    const settings = path.join(this.#folder, 'containers.conf');
    fs.writeFileSync(settings, '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n');
    process.env.CONTAINERS_CONF = settings;
  }

  /** Variables for containers, or else files to be mounted, as a Secret among the objects has them. */
  addSecret({ stringData, ...secret }: Secret, { areVariables = false } = {}): void {
    const texts = Object.entries(stringData ?? {});
    this.#secrets.push(secret.metadata.name);
    const data = Object.fromEntries(texts.map(([name, text]) => [name, Buffer.from(text).toString('base64')]));
    // Version 4.3 neither reads variables from the form that it makes of a manifest, nor decodes what it mounts.
    if (podman('version', '--format={{.Client.Version}}').startsWith('4.3.')) {
      const plain = path.join(this.#folder, 'secret.json');
      const mounted = { ...secret, data: Object.fromEntries(texts) };
      fs.writeFileSync(plain, JSON.stringify(areVariables ? data : mounted));
      podman('secret', 'create', secret.metadata.name, plain);
      return;
    }
    const encoded = path.join(this.#folder, 'secret.yaml');
    fs.writeFileSync(encoded, JSON.stringify({ ...secret, data }));
    podman('kube', 'play', encoded);
  }

  /** Without a network, or in that of a process. */
  play(objects: readonly KubernetesObject[], pid: number | null = null): void {
    for (const secret of objects.filter(({ kind }) => kind === 'Secret')) this.addSecret(secret);
    const deployment = objects.find(({ kind }) => kind === 'Deployment') as KubernetesObject;
    const file = path.join(this.#folder, 'pod.yaml');
    fs.writeFileSync(file, JSON.stringify(this.#podOf(deployment)));
    if (pid === null) podman('kube', 'play', '--network=none', file);
    else podmanInNetwork(pid, 'kube', 'play', '--network=host', file);
  }

  /** Node in the pod's network, outside its other walls. */
  inNetwork(script: string): [program: string, args: string[]] {
    const { State: state } = inspect<{ State: { Pid: number } }>(this.container);
    return ['nsenter', [`--net=/proc/${state.Pid}/ns/net`, process.execPath, '--input-type=module', '--eval', script]];
  }

  ask(authorization: string, url: string, body?: object): Reply {
    const init = {
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      headers: { 'content-type': 'application/json', ...(authorization && { authorization }) },
    };
    const script = `const reply = await fetch('http://127.0.0.1:8080${url}', ${JSON.stringify(init)});
      console.log(JSON.stringify({ status: reply.status, text: await reply.text() }));`;
    const { stdout } = spawnSync(...this.inNetwork(script), { encoding: 'utf8' });
    return stdout === '' ? { status: 0, text: '' } : JSON.parse(stdout);
  }

  remove(): void {
    delete process.env.CONTAINERS_CONF;
    podman('pod', 'rm', '--force', '--ignore', '--time=0', this.name);
    for (const name of this.#secrets) spawnSync('podman', ['secret', 'rm', name]);
    // Volumes of the pod.
    for (const name of ['home', 'tmp', 'keys']) podman('volume', 'rm', '--force', `${this.name}-${name}`);
    fs.rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The pod of a Deployment, without what podman does otherwise than a cluster. */
  #podOf(deployment: KubernetesObject): object {
    const { template } = deployment.spec as { template: Pod };
    // Its probe would run curl inside, which the image has no use for; a cluster's kubelet asks by itself. A network of its
    // own would need a firewall's tools on this machine.
    const without = { livenessProbe: undefined, ports: undefined };
    // podman creates a volume for each emptyDir name. Prefix the names, because other pods on this machine may use
    // them.
    const own = <Each extends Named>(each: Each): Each => ({ ...each, name: `${this.name}-${each.name}` });
    const played = (each: Container) => ({ ...each, ...without, volumeMounts: each.volumeMounts.map(own) });
    // Version 4.3 ends with a fault of its own where this is left to its default.
    const volumes = template.spec.volumes.map((each) => {
      const secret = each.secret && { secret: { ...each.secret, optional: false } };
      return { ...own(each), ...secret };
    });
    const { initContainers, containers } = template.spec;
    const spec = {
      ...template.spec,
      // By podman's default a first container that has ended would be started again, too.
      restartPolicy: 'Never',
      initContainers: initContainers.map(played),
      containers: containers.map(played),
      volumes,
    };
    return { apiVersion: 'v1', kind: 'Pod', metadata: { ...template.metadata, name: this.name }, spec };
  }
}

/** The objects of a script's app, as `chasqui deploy` prints them. */
export async function objectsOf(script: string, ...args: string[]): Promise<KubernetesObject[]> {
  const target = ['--to', 'kubernetes', '--image', IMAGE, '--dry-run', '--output', 'json'];
  const printed = await runCli(['deploy', script, ...target, ...args]);
  if (printed.code !== 0) throw new Error(printed.stderr);
  return JSON.parse(printed.stdout).items;
}
