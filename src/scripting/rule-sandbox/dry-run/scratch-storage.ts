/** Storage of a rule in a dry run: begins with the present content, takes every change, and is thrown away. */
import type { Limits } from '../../../lib/limits.ts';
import { cutToBytes } from '../../../lib/text.ts';
import type { RuleStore } from '../../../protocol/rule-sandbox.ts';
import type { Notes } from './notes.ts';

export function createScratchStorage(options: {
  limits: Pick<Limits['rules'], 'storageBytes' | 'dryRun'>;
  /** Reads the real storage. */
  original: (store: RuleStore, key: string) => Promise<string | null>;
  notes: Notes;
}) {
  const { limits, original, notes } = options;
  /** Changed values; null: removed. */
  const changed = new Map<RuleStore, Map<string, string | null>>();

  /** JSON text, or null. */
  async function read(store: RuleStore, key: string): Promise<string | null> {
    const own = changed.get(store)?.get(key);
    return own === undefined ? original(store, key) : own;
  }

  function set(store: RuleStore, key: string, value: string | null): void {
    changed.getOrInsertComputed(store, () => new Map()).set(key, value);
  }

  function bytesBeside(store: RuleStore, key: string): number {
    let bytes = 0;
    for (const [name, value] of changed.get(store) ?? [])
      if (name !== key) bytes += Buffer.byteLength(name) + Buffer.byteLength(value ?? '');
    return bytes;
  }

  return {
    read,
    /** An error as the gateway would give it, or undefined. */
    write: async (store: RuleStore, key: string, value: string) => {
      if ((await read(store, key)) === value) return undefined;
      const sizeBytes = Buffer.byteLength(key) + Buffer.byteLength(value);
      if (bytesBeside(store, key) + sizeBytes > limits.storageBytes)
        return `the store holds at most ${limits.storageBytes} bytes`;
      set(store, key, value);
      notes.add({ kind: 'storage', store, key, value: cutToBytes(value, limits.dryRun.textBytes) });
      return undefined;
    },
    remove: async (store: RuleStore, key: string) => {
      if ((await read(store, key)) === null) return;
      set(store, key, null);
      notes.add({ kind: 'storage', store, key });
    },
  };
}
