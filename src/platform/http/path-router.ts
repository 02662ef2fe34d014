/**
 * Hono's own routing, with what it found for paths without parameters kept: those are asked for most, and with paths like
 * ours it walks from part to part each time.
 */
import type { Result, Router } from 'hono/router';
import { RegExpRouter } from 'hono/router/reg-exp-router';
import { SmartRouter } from 'hono/router/smart-router';
import { TrieRouter } from 'hono/router/trie-router';

export class PathRouter<Target> implements Router<Target> {
  readonly name = 'PathRouter';
  readonly #router = new SmartRouter<Target>({ routers: [new RegExpRouter(), new TrieRouter()] });
  /** By method; of paths that were added without parameters, as many as there are. */
  readonly #kept = new Map<string, Map<string, Result<Target> | undefined>>();

  add(method: string, path: string, target: Target): void {
    this.#router.add(method, path, target);
    if (/[:*]/.test(path)) return;
    const ofMethod = this.#kept.get(method);
    if (ofMethod) ofMethod.set(path, undefined);
    else this.#kept.set(method, new Map([[path, undefined]]));
  }

  match(method: string, path: string): Result<Target> {
    const ofMethod = this.#kept.get(method);
    const kept = ofMethod?.get(path);
    if (kept) return kept;
    const found = this.#router.match(method, path);
    if (ofMethod?.has(path)) ofMethod.set(path, found);
    return found;
  }
}
