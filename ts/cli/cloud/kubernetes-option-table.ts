/** Options of `chasqui deploy` for a Kubernetes cluster. */
import { choice, inGroup, type OptionRows, off, text, type UngroupedRows } from '../../options/option-row.js';

const GROUP = 'With --to kubernetes';

const GROUP_OPTIONS = inGroup(GROUP, {
  image: {
    ...text('reference'),
    help: 'Container image of chasqui for the pods, preferably with its digest',
    otherwise: 'none; required',
  },
  context: { ...text('name'), help: 'Context of the kubeconfig', otherwise: 'the current context' },
  namespace: { ...text('name'), help: 'Namespace of the objects', otherwise: "the context's" },
  gateway: {
    ...text('name'),
    help: 'Gateway to attach a route to, as name or namespace/name',
    otherwise: 'no route is created',
  },
  routeHost: { ...text('name'), help: 'Host name of the route or the scaler', otherwise: 'any' },
  secret: {
    ...text('name'),
    help: 'Secret of the cluster with the variables that the script references',
    otherwise: 'none',
  },
  weightsSize: {
    ...text('quantity'),
    help: 'Keep downloaded weights in a volume of this size, such as 20Gi',
    otherwise: 'each pod downloads them',
  },
  storageClass: { ...text('name'), help: 'Storage class of that volume', otherwise: "the cluster's" },
  scaler: {
    ...choice('keda-http'),
    flag: '--scale',
    placeholder: 'scaler',
    help: 'Scale to zero and back with this add-on of the cluster',
    otherwise: '`scale.min` of the script, at least one pod',
  },
  routing: {
    ...choice('inferencepool'),
    placeholder: 'kind',
    help: 'Let an endpoint picker choose the pod for each request',
    otherwise: 'the Service chooses',
  },
  endpointPicker: { ...text('service:port'), help: 'Endpoint picker, such as picker:9002', otherwise: 'none' },
  takeOver: { ...off, help: 'Overwrite fields that another program has changed' },
  dryRun: { ...off, help: 'Print the objects without applying them' },
  output: {
    ...choice('yaml', 'json'),
    default: 'yaml',
    short: '-o',
    placeholder: 'format',
    help: 'Output format of --dry-run',
  },
} as const satisfies UngroupedRows);

export const KUBERNETES_OPTIONS = {
  target: {
    ...choice('cloud', 'kubernetes'),
    default: 'cloud',
    flag: '--to',
    placeholder: 'target',
    group: 'Options',
    help: 'Deploy to a chasqui cloud, or to Kubernetes with kubectl',
  },
  ...GROUP_OPTIONS,
} as const satisfies OptionRows;

/** Options of commands for an app in a cluster. Each of them implies `--to kubernetes`. */
export const CLUSTER_OPTIONS = {
  context: { ...KUBERNETES_OPTIONS.context, group: 'Apps in Kubernetes' },
  namespace: { ...KUBERNETES_OPTIONS.namespace, group: 'Apps in Kubernetes' },
} as const satisfies OptionRows;

export const TARGET_OPTIONS = {
  target: { ...KUBERNETES_OPTIONS.target, group: 'Apps in Kubernetes', help: 'Target of the deployment' },
  ...CLUSTER_OPTIONS,
} as const satisfies OptionRows;

export const WEIGHTS_OPTION = inGroup('Apps in Kubernetes', {
  weights: { ...off, help: 'Also delete the volume with downloaded weights' },
} as const satisfies UngroupedRows);
