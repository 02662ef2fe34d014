/** A thread that does what it is started for, as soon as it has said that it begins. */
import { createInflateRaw } from 'node:zlib';
import { connectThread } from '../../../src/platform/threads/index.ts';

const { data, post, onMessage } = connectThread<string, string, string>();

function compress(): void {
  for (let count = 0; count < 20; count++) createInflateRaw().destroy();
  setImmediate(compress);
}

post('begins');
if (data === 'compresses') {
  onMessage(() => undefined);
  compress();
} else if (data === 'is stuck') for (;;);
else setTimeout(() => onMessage((message) => post(`heard ${message}`)), 50);
