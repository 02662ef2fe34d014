/** Queries as they were read: pages and integrations send the same ones every few seconds. */
import type { GenericSchema } from 'valibot';
import { parseQuery } from './parse.ts';

/** Queries that are kept, of all routes together, and letters of each. */
const QUERIES_KEPT = 100;
const QUERY_LENGTH_KEPT = 2_000;

/** Keeps a bounded number of queries, of all routes together. */
export class ReadQueries {
  #known = new Map<GenericSchema, Map<string, unknown>>();
  #count = 0;

  /** What is returned is frozen. @throws GatewayError invalid_query (400) with every fault */
  read(schema: GenericSchema, search: string): unknown {
    const known = this.#known.get(schema)?.get(search);
    if (known !== undefined) return known;
    const query = frozen(parseQuery(schema, search));
    if (search.length <= QUERY_LENGTH_KEPT) this.#keep(schema, search, query);
    return query;
  }

  #keep(schema: GenericSchema, search: string, query: unknown): void {
    if (this.#count++ >= QUERIES_KEPT) {
      this.#known = new Map();
      this.#count = 1;
    }
    this.#known.getOrInsertComputed(schema, () => new Map()).set(search, query);
  }
}

function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  for (const member of Object.values(value)) frozen(member);
  return Object.freeze(value);
}
