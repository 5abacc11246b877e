/** Cluster events of an app: unschedulable pods, image pull errors, failed probes. */
import { type Cluster, kubectl } from './kubectl.js';
import { APP_LABEL } from './kubernetes-app.js';

export interface ClusterEvent {
  /** Stays the same when the event is repeated. */
  id: string;
  /** Last occurrence. */
  at: string | null;
  /** For example `Pod/acme-chat-7d9f-x2x`. */
  object: string;
  type: string;
  reason: string;
  message: string;
  count: number;
}

interface NativeEvent {
  metadata: { uid?: string; name: string; creationTimestamp?: string };
  involvedObject?: { kind?: string; name?: string };
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  series?: { count?: number; lastObservedTime?: string };
}

/** Maximum length of pod names, and the length of their random suffix. */
const POD_NAME_LENGTH = 63;
const SUFFIX_LENGTH = 5;

interface Named {
  kind: string;
  metadata: { name: string };
}

/** Events of the app, the latest last. Clusters keep them for about an hour. */
export async function readEvents(cluster: Cluster, app: string): Promise<ClusterEvent[]> {
  const kinds = 'deployments.apps,replicasets.apps,pods,persistentvolumeclaims';
  const [objects, events] = await Promise.all([
    itemsOf<Named>(cluster, [kinds, `--selector=${APP_LABEL}=${app}`]),
    itemsOf<NativeEvent>(cluster, ['events']),
  ]);
  return eventsOf(objects, events);
}

async function itemsOf<Item>(cluster: Cluster, args: readonly string[]): Promise<Item[]> {
  const output = await kubectl(cluster, ['get', ...args, '--output=json']);
  return (JSON.parse(output) as { items: Item[] }).items;
}

/** Deleted pods are recognized by the name of their replica set, which is a possibly truncated prefix of theirs. */
function eventsOf(objects: readonly Named[], events: readonly NativeEvent[]): ClusterEvent[] {
  const known = new Set(objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`));
  const sets = objects.filter(({ kind }) => kind === 'ReplicaSet');
  const podsBegin = new Set(sets.map(({ metadata }) => `${metadata.name}-`.slice(0, POD_NAME_LENGTH - SUFFIX_LENGTH)));
  return events
    .filter(({ involvedObject: { kind = '', name = '' } = {} }) => {
      return known.has(`${kind}/${name}`) || (kind === 'Pod' && podsBegin.has(name.slice(0, -SUFFIX_LENGTH)));
    })
    .map(toEvent)
    .sort((one, other) => (one.at ?? '').localeCompare(other.at ?? ''));
}

function toEvent(event: NativeEvent): ClusterEvent {
  const { metadata, involvedObject = {}, series } = event;
  return {
    id: metadata.uid ?? metadata.name,
    at: series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? metadata.creationTimestamp ?? null,
    object: `${involvedObject.kind}/${involvedObject.name}`,
    type: event.type ?? 'Normal',
    reason: event.reason ?? '',
    message: event.message ?? '',
    count: series?.count ?? event.count ?? 1,
  };
}
