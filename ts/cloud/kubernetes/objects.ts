/** Creates the Kubernetes objects of an app. Pure. */
import { stringify } from 'yaml';
import {
  APP_LABEL,
  KEYS_SUFFIX,
  type KubernetesApp,
  type KubernetesObject,
  MESSAGE_ANNOTATION,
  nameOf,
  REVISION_LABEL,
} from './kubernetes-app.js';
import { PORT, podLabels, podTemplate } from './pod.js';

/** In the order of creation. */
export function toObjects(app: KubernetesApp): KubernetesObject[] {
  return [
    object(app, 'v1', 'ServiceAccount', '', { automountServiceAccountToken: false }),
    ...(app.auth === 'private' ? [keysSecret(app)] : []),
    ...(app.weights === null ? [] : [claim(app)]),
    deployment(app),
    service(app),
    disruptionBudget(app),
    networkPolicy(app),
    ...(app.endpointPicker === null ? [] : [inferencePool(app)]),
    ...(app.gateway === null ? [] : [route(app)]),
    ...(app.scaler === null ? [] : [interceptorRoute(app), scaledObject(app)]),
  ];
}

/** Built-in resource types that an app may have had in an earlier revision, as in `kubectl get`. */
export const CORE_KINDS: readonly string[] = [
  'serviceaccounts',
  'secrets',
  'persistentvolumeclaims',
  'deployments.apps',
  'services',
  'poddisruptionbudgets.policy',
  'networkpolicies.networking.k8s.io',
];

export interface AddOn {
  /** Its resource type for `kubectl get`. */
  kinds: string;
  name: string;
  option: string;
}

/** Optional extensions of a cluster, by kind. */
export const ADD_ONS: Readonly<Record<string, AddOn>> = {
  HTTPRoute: { kinds: 'httproutes.gateway.networking.k8s.io', name: 'the Gateway API', option: 'gateway' },
  InferencePool: {
    kinds: 'inferencepools.inference.networking.k8s.io',
    name: 'the inference extension of the Gateway API',
    option: 'routing',
  },
  InterceptorRoute: { kinds: 'interceptorroutes.http.keda.sh', name: "KEDA's HTTP add-on", option: 'scaler' },
  ScaledObject: { kinds: 'scaledobjects.keda.sh', name: 'KEDA', option: 'scaler' },
};

type Owner = Pick<KubernetesApp, 'org' | 'name' | 'revision'>;

function object(
  app: Owner,
  apiVersion: string,
  kind: string,
  suffix: string,
  fields: Record<string, unknown>,
): KubernetesObject {
  const labels = {
    [APP_LABEL]: nameOf(app),
    [REVISION_LABEL]: app.revision.slice(0, 32),
    'app.kubernetes.io/name': 'chasqui',
    'app.kubernetes.io/managed-by': 'chasqui',
  };
  return { apiVersion, kind, metadata: { name: `${nameOf(app)}${suffix}`, labels }, ...fields };
}

export function keysSecret(app: Owner & Pick<KubernetesApp, 'keys'>): KubernetesObject {
  return object(app, 'v1', 'Secret', KEYS_SUFFIX, {
    type: 'Opaque',
    stringData: { 'keys.json': JSON.stringify({ keys: app.keys }) },
  });
}

/** Writable by one node. Several pods share it on one node, or if the storage class allows it. */
function claim(app: KubernetesApp): KubernetesObject {
  const { size = '', storageClass = null } = app.weights ?? {};
  return object(app, 'v1', 'PersistentVolumeClaim', '-weights', {
    spec: {
      accessModes: ['ReadWriteOnce'],
      ...(storageClass !== null && { storageClassName: storageClass }),
      resources: { requests: { storage: size } },
    },
  });
}

function deployment(app: KubernetesApp): KubernetesObject {
  const made = object(app, 'apps/v1', 'Deployment', '', {
    spec: {
      // With a scaler, applying `replicas` would reset its value.
      ...(app.scaler === null && { replicas: Math.max(1, app.scale.min) }),
      revisionHistoryLimit: 3,
      // Pods may take this long to start before the rollout counts as failed.
      progressDeadlineSeconds: app.timeouts.startSeconds + 60,
      selector: { matchLabels: { [APP_LABEL]: nameOf(app) } },
      strategy:
        app.strategy === 'recreate'
          ? { type: 'Recreate' }
          : { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: podTemplate(app),
    },
  });
  if (app.message !== null) made.metadata.annotations = { [MESSAGE_ANNOTATION]: app.message };
  return made;
}

function service(app: KubernetesApp): KubernetesObject {
  return object(app, 'v1', 'Service', '', {
    spec: {
      type: 'ClusterIP',
      selector: { [APP_LABEL]: nameOf(app) },
      ports: [{ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' }],
    },
  });
}

/** One pod may be unavailable. Otherwise the node of a single pod could never be drained. */
function disruptionBudget(app: KubernetesApp): KubernetesObject {
  return object(app, 'policy/v1', 'PodDisruptionBudget', '', {
    spec: { maxUnavailable: 1, selector: { matchLabels: { [APP_LABEL]: nameOf(app) } } },
  });
}

/** Ingress: requests, probes and metrics. Egress: DNS, and the ports for fetching weights and images. */
function networkPolicy(app: KubernetesApp): KubernetesObject {
  return object(app, 'networking.k8s.io/v1', 'NetworkPolicy', '', {
    spec: {
      podSelector: { matchLabels: podLabels(app) },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: [{ port: PORT, protocol: 'TCP' }] }],
      egress: [
        {
          ports: [
            { port: 53, protocol: 'UDP' },
            { port: 53, protocol: 'TCP' },
          ],
        },
        {
          ports: [...[443, 80, ...app.fetchPorts].map((port) => ({ port, protocol: 'TCP' }))],
        },
      ],
    },
  });
}

/** For an endpoint picker that routes by queues and caches. */
function inferencePool(app: KubernetesApp): KubernetesObject {
  return object(app, 'inference.networking.k8s.io/v1', 'InferencePool', '', {
    spec: {
      selector: { matchLabels: { [APP_LABEL]: nameOf(app) } },
      targetPorts: [{ number: PORT }],
      endpointPickerRef: { name: app.endpointPicker?.name, port: { number: app.endpointPicker?.port } },
    },
  });
}

/** The path is not rewritten: the runner's own paths have this prefix. */
function route(app: KubernetesApp): KubernetesObject {
  const { name, namespace = null, host = null } = app.gateway ?? {};
  const backend =
    app.endpointPicker === null
      ? { name: nameOf(app), port: 80 }
      : { group: 'inference.networking.k8s.io', kind: 'InferencePool', name: nameOf(app) };
  return object(app, 'gateway.networking.k8s.io/v1', 'HTTPRoute', '', {
    spec: {
      parentRefs: [{ name, ...(namespace !== null && { namespace }) }],
      ...(host !== null && { hostnames: [host] }),
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: `/${app.org}/${app.name}` } }],
          backendRefs: [backend],
          // No limit for streams; the runner has its own.
          timeouts: { request: '0s' },
        },
      ],
    },
  });
}

function interceptorRoute(app: KubernetesApp): KubernetesObject {
  return object(app, 'http.keda.sh/v1beta1', 'InterceptorRoute', '', {
    spec: {
      target: { service: nameOf(app), port: 80 },
      rules: [{ hosts: [app.scaler?.host], paths: [{ value: `/${app.org}/${app.name}` }] }],
      scalingMetric: { concurrency: { targetValue: app.slots } },
      // The default of 300 s is too short for a first start, which fetches weights.
      timeouts: {
        readiness: `${app.timeouts.startSeconds}s`,
        responseHeader: `${app.timeouts.startSeconds + app.timeouts.requestSeconds}s`,
      },
    },
  });
}

function scaledObject(app: KubernetesApp): KubernetesObject {
  return object(app, 'keda.sh/v1alpha1', 'ScaledObject', '', {
    spec: {
      scaleTargetRef: { name: nameOf(app) },
      minReplicaCount: app.scale.min,
      maxReplicaCount: app.scale.max,
      cooldownPeriod: app.scale.keepAliveSeconds,
      triggers: [
        {
          type: 'external-push',
          metadata: {
            scalerAddress: 'keda-add-ons-http-external-scaler.keda:9090',
            interceptorRoute: nameOf(app),
          },
        },
      ],
    },
  });
}

/** YAML for people and for `kubectl apply --filename`. */
export function toYaml(objects: readonly KubernetesObject[]): string {
  return objects.map((object) => stringify(object, { aliasDuplicateObjects: false, lineWidth: 0 })).join('---\n');
}
