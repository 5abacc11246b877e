/** A program for tests of the key store: makes keys and tells of each, until it is killed. */
import { writeSync } from 'node:fs';
import { KeyStore } from '../../ts/keys/key-store.js';

const keys = KeyStore.open(process.argv[2] as string);
for (;;) writeSync(1, `${keys.create().key}\n`);
