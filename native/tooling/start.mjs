// Run by `npm start` after the setup: the named command, such as `npm start -- desktop`, or `serve`.
import process from 'node:process';

if (process.argv[2]?.startsWith('-') ?? true) process.argv.splice(2, 0, 'serve');
await import('../../dist/cli.js');
