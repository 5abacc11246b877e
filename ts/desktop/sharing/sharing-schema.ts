/** Sharing of the server in the local network. */
import * as s from '../../http/schema/json-schema.js';

export const sharingState = s.objectOf({
  on: s.boolean,
  /** The first part of the key; `null` before the first key. */
  keyId: s.orNull(s.string),
  /** Empty unless the server is running. */
  addresses: s.arrayOf(s.string),
  /** Why the addresses are not open. */
  error: s.orNull(s.string),
});

export const sharingSwitch = s.closedObjectOf({ on: s.boolean });

export const sharingReply = s.objectOf({
  ...sharingState.properties,
  /** Only in the reply to the request that created it. */
  key: s.orNull(s.string),
});

export type SharingState = s.Static<typeof sharingState>;
export type SharingReply = s.Static<typeof sharingReply>;
