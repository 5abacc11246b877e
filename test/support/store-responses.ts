/** A program: stores so many responses of one owner in a folder, beside others that do so at the same time. */
import process from 'node:process';
import { SqliteStore } from '../../ts/api/openai/responses/store/sqlite-store.js';

const [, , folder = '', owner = '', count = '0'] = process.argv;
const store = SqliteStore.open(folder);
for (let number = 0; number < Number(count); number++) {
  const response = { id: `resp_${owner}_${number}`, output: [] };
  store.put(owner, { response: response as never, input: [] });
}
store.close();
console.log('stored');
