/**
 * Problems of one document, in the order they were found: each text once, at most as many as are worth
 * reading, and a count of the others (docs/interface/blueprints.md#problems).
 */
import { LIMITS } from '../../../lib/limits.ts';

/** Texts remembered so that repetitions are not counted twice. */
const REMEMBERED_MAX = 20_000;

export class Problems {
  readonly #texts: string[] = [];
  readonly #known = new Set<string>();
  #more = 0;

  add(path: string, problem: string): void {
    this.addText(path === '' ? problem : `${path}: ${problem}`);
  }

  addText(text: string): void {
    if (this.#known.has(text)) return;
    if (this.#known.size < REMEMBERED_MAX) this.#known.add(text);
    if (this.#texts.length < LIMITS.blueprints.problems) this.#texts.push(text);
    else this.#more++;
  }

  addAll(texts: readonly string[]): void {
    for (const text of texts) this.addText(text);
  }

  get isEmpty(): boolean {
    return this.#texts.length === 0;
  }

  list(): string[] {
    return this.#more === 0 ? [...this.#texts] : [...this.#texts, `... and ${this.#more} more`];
  }
}
