/** A client of the HTTP interface: changes by a site file go the same way as those by people. */
import { LIMITS } from '../lib/limits.ts';
import type { Clock } from '../platform/clock/index.ts';

/** The gateway refused a request; the message is its own. */
class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'Refused';
    this.status = status;
  }
}

interface ApiOptions {
  /** Such as `http://127.0.0.1:8080`. */
  origin: string;
  token: string;
  fetch: (request: Request) => Promise<Response>;
  clock: Pick<Clock, 'sleep'>;
}

const NOT_FOUND = 404;
const TOO_MANY = 429;
const SECOND_MS = 1_000;

/** A client of one gateway, with one token. */
export class Api {
  readonly #options: ApiOptions;

  constructor(options: ApiOptions) {
    this.#options = options;
  }

  /** @throws Refused */
  async get<Answer>(path: string): Promise<Answer> {
    return (await this.#answer('GET', path)).json() as Promise<Answer>;
  }

  /** Undefined: there is none. @throws Refused */
  async find<Answer>(path: string): Promise<Answer | undefined> {
    try {
      return await this.get<Answer>(path);
    } catch (error) {
      if (error instanceof Refused && error.status === NOT_FOUND) return undefined;
      throw error;
    }
  }

  /** All pages of a list. @throws Refused */
  async all<Item>(path: string, member: string): Promise<Item[]> {
    const limit = LIMITS.http.pageItems;
    const found: Item[] = [];
    for (;;) {
      const page = await this.get<Record<string, Item[]>>(`${path}?limit=${limit}&offset=${found.length}`);
      const items = page[member] ?? [];
      found.push(...items);
      if (items.length < limit) return found;
    }
  }

  /** @throws Refused */
  async bytes(path: string): Promise<Uint8Array> {
    return new Uint8Array(await (await this.#answer('GET', path)).arrayBuffer());
  }

  /** @throws Refused */
  async send<Answer>(method: 'POST' | 'PATCH', path: string, body: object): Promise<Answer> {
    return (await this.#answer(method, path, body)).json() as Promise<Answer>;
  }

  async #answer(method: string, path: string, body?: object): Promise<Response> {
    const { origin, token, fetch, clock } = this.#options;
    for (;;) {
      const response = await fetch(
        new Request(new URL(path, origin), {
          method,
          headers: { 'X-Service-Auth-Token': token },
          ...(body && { body: body instanceof Uint8Array ? Uint8Array.from(body) : JSON.stringify(body) }),
        }),
      );
      if (response.ok) return response;
      const retryAfterS = Number(response.headers.get('Retry-After'));
      if (response.status !== TOO_MANY || !(retryAfterS > 0)) throw await refusalOf(response);
      // A file makes more requests at once than a person.
      await response.body?.cancel();
      await clock.sleep(retryAfterS * SECOND_MS);
    }
  }
}

async function refusalOf(response: Response): Promise<Refused> {
  const text = await response.text();
  const errors = errorsOf(text);
  const said = errors.map(({ code, message }) => `${message} (${code})`).join(' ');
  return new Refused(response.status, said === '' ? `${response.status}: ${text.slice(0, 200)}` : said);
}

function errorsOf(text: string): { code: string; message: string }[] {
  try {
    return (JSON.parse(text) as { errors?: { code: string; message: string }[] }).errors ?? [];
  } catch {
    return [];
  }
}
