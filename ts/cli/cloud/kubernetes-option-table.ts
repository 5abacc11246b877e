/** The options of `chasqui deploy` that say how an app comes to a Kubernetes cluster. */
import type { OptionRows } from '../../options/option-row.js';

const GROUP = 'With --to kubernetes';

export const KUBERNETES_OPTIONS = {
  target: {
    type: 'choice',
    choices: ['cloud', 'kubernetes'],
    default: 'cloud',
    flag: '--to',
    placeholder: 'target',
    group: 'Options',
    help: 'where to deploy: to a cloud of chasqui, or by kubectl to Kubernetes',
  },
  image: {
    type: 'string',
    flag: '--image',
    placeholder: 'reference',
    group: GROUP,
    help: 'image of chasqui that pods run, best with its digest',
    otherwise: 'none; it must be given',
  },
  context: {
    type: 'string',
    flag: '--context',
    placeholder: 'name',
    group: GROUP,
    help: 'context of the kubeconfig',
    otherwise: 'its current one',
  },
  namespace: {
    type: 'string',
    flag: '--namespace',
    placeholder: 'name',
    group: GROUP,
    help: 'namespace of the objects',
    otherwise: "the context's",
  },
  gateway: {
    type: 'string',
    flag: '--gateway',
    placeholder: 'name',
    group: GROUP,
    help: 'Gateway to attach a route to, as name or namespace/name',
    otherwise: 'no route is made',
  },
  routeHost: {
    type: 'string',
    flag: '--route-host',
    placeholder: 'name',
    group: GROUP,
    help: 'host that the route or the scaler answers to',
    otherwise: 'any',
  },
  secret: {
    type: 'string',
    flag: '--secret',
    placeholder: 'name',
    group: GROUP,
    help: 'Secret of the cluster with the variables that the script names',
    otherwise: 'none',
  },
  weightsSize: {
    type: 'string',
    flag: '--weights-size',
    placeholder: 'quantity',
    group: GROUP,
    help: 'keep fetched weights in a volume of this size, such as 20Gi',
    otherwise: 'each pod fetches its own',
  },
  storageClass: {
    type: 'string',
    flag: '--storage-class',
    placeholder: 'name',
    group: GROUP,
    help: 'class of that volume',
    otherwise: "the cluster's",
  },
  scaler: {
    type: 'choice',
    choices: ['keda-http'],
    flag: '--scale',
    placeholder: 'scaler',
    group: GROUP,
    help: 'scale to zero and back by an add-on of the cluster',
    otherwise: 'as many pods as `scale.min` of the script, one at least',
  },
  routing: {
    type: 'choice',
    choices: ['inferencepool'],
    flag: '--routing',
    placeholder: 'kind',
    group: GROUP,
    help: 'have an endpoint picker choose the pod of a request',
    otherwise: 'the Service does',
  },
  endpointPicker: {
    type: 'string',
    flag: '--endpoint-picker',
    placeholder: 'service:port',
    group: GROUP,
    help: 'the picker, such as picker:9002',
    otherwise: 'none',
  },
  takeOver: {
    type: 'boolean',
    default: false,
    flag: '--take-over',
    group: GROUP,
    help: 'apply fields too that another program has changed',
  },
  dryRun: {
    type: 'boolean',
    default: false,
    flag: '--dry-run',
    group: GROUP,
    help: 'print the objects, and change nothing',
  },
  output: {
    type: 'choice',
    choices: ['yaml', 'json'],
    default: 'yaml',
    flag: '--output',
    short: '-o',
    placeholder: 'format',
    group: GROUP,
    help: 'how to print them',
  },
} as const satisfies OptionRows;

/** Of commands that look at an app in a cluster or change it. Each of them means Kubernetes by itself. */
export const CLUSTER_OPTIONS = {
  context: { ...KUBERNETES_OPTIONS.context, group: 'Apps in Kubernetes' },
  namespace: { ...KUBERNETES_OPTIONS.namespace, group: 'Apps in Kubernetes' },
} as const satisfies OptionRows;

export const TARGET_OPTIONS = {
  target: { ...KUBERNETES_OPTIONS.target, group: 'Apps in Kubernetes', help: 'where the app was deployed to' },
  ...CLUSTER_OPTIONS,
} as const satisfies OptionRows;

export const WEIGHTS_OPTION = {
  weights: {
    type: 'boolean',
    default: false,
    flag: '--weights',
    group: 'Apps in Kubernetes',
    help: 'delete the volume with fetched weights as well',
  },
} as const satisfies OptionRows;
