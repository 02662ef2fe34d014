/**
 * Owners and installers: they make, change and remove users, tokens, rules, devices, the configuration of devices and
 * the site, one thing after the other, and keep a journal of what the gateway acknowledged.
 */
import type { Clock } from '../../../src/platform/clock/index.ts';
import { type GatewayClient, GatewayRefusal, GatewayUnreachable } from '../../support/gateway-client.ts';
import type { Random } from '../../support/random.ts';
import { type Problem, Register } from './journal.ts';

export interface PeopleOptions {
  /** With the rights of an installer. */
  client: GatewayClient;
  clock: Clock;
  random: Random;
  /** A battery inverter, whose configuration is changed. */
  deviceId: string;
  /** Status of a call with this access token. */
  statusWith: (token: string) => Promise<number>;
}

/** Something with a name, of which at most one writer changes the state at a time. */
interface Thing {
  name: string;
  /** Its id in the gateway; undefined as long as no answer had it. */
  id: string | undefined;
  /** Its state as a text; `ABSENT` when it was removed. */
  state: Register;
  /** The text of a token. */
  secret?: string;
  /** The outcome of a change is not known: all that is done to it is to remove it. */
  isDoubtful: boolean;
  isOver: boolean;
}

export type Kind = 'user' | 'token' | 'rule' | 'device' | 'site' | 'configuration';
/** The answer; undefined when nobody knows what became of the call, or when it was refused. */
type Outcome = Record<string, unknown> | undefined;

const KINDS: readonly Kind[] = ['user', 'token', 'rule', 'device', 'site', 'configuration'];
const ABSENT = 'absent';
const PASSWORD = 'a password of the check';
const CALL_TIMEOUT_MS = 60_000;
/** Largest number of each kind; the oldest is removed for the next one. */
const THINGS_MAX = 12;
/** So long an entry of the audit trail is certainly kept, whatever the clock of the box did: two thirds of its lifetime. */
const AUDIT_KEPT_MS = 60 * 86_400_000;
/** The largest that all lists have. */
const PAGE = 100;
const ROLES = ['READONLY', 'USER', 'OWNER'] as const;
const RULES = '/site/rule_engine/rules';

export class People {
  readonly #options: PeopleOptions;
  readonly #things = new Map<Kind, Thing[]>(KINDS.map((kind) => [kind, []]));
  /** By the monotonic clock. */
  readonly #acknowledgedAtMs: number[] = [];
  #made = 0;
  #isResting = true;
  #working: Promise<void> = Promise.resolve();
  /** What was refused although nothing speaks against it. */
  readonly refusals: string[] = [];

  constructor(options: PeopleOptions) {
    this.#options = options;
    this.#add('site', 'name');
    this.#add('configuration', 'minimum_soc_percent');
  }

  /** Changes that the gateway acknowledged. */
  get acknowledgedCount(): number {
    return this.#acknowledgedAtMs.length;
  }

  /** Makes one change after the other, with a pause in between, until `rest`. */
  work(pauseMs: number): void {
    this.#isResting = false;
    this.#working = (async () => {
      while (!this.#isResting) {
        await this.act();
        await this.#options.clock.sleep(pauseMs);
      }
    })();
  }

  /** Resolves when nothing is under way any more. */
  async rest(): Promise<void> {
    this.#isResting = true;
    await this.#working;
  }

  /** One change by chance. True when it was acknowledged. */
  async act(kind: Kind = this.#options.random.pick(KINDS)): Promise<boolean> {
    const { random } = this.#options;
    if (kind === 'site') return this.#changeSite();
    if (kind === 'configuration') return this.#configure();
    const alive = (this.#things.get(kind) ?? []).filter(({ isOver }) => !isOver);
    if (alive.length >= THINGS_MAX) return this.#remove(kind, alive[0] as Thing);
    const known = alive.filter(({ id }) => id !== undefined);
    if (known.length === 0 || random.chance(0.5)) return this.#make(kind);
    const thing = random.pick(known);
    return thing.isDoubtful || random.chance(0.3) ? this.#remove(kind, thing) : this.#change(kind, thing);
  }

  /** Every kind once, in turn. How many were acknowledged. */
  async actAll(): Promise<number> {
    let acknowledged = 0;
    for (const kind of KINDS) if (await this.act(kind)) acknowledged += 1;
    return acknowledged;
  }

  #add(kind: Kind, name: string): Thing {
    const thing = { name, id: undefined, state: new Register(), isDoubtful: false, isOver: false };
    this.#things.get(kind)?.push(thing);
    return thing;
  }

  async #attempt(
    thing: Thing,
    state: string,
    call: { method: 'POST' | 'PATCH' | 'DELETE'; path: string; body?: unknown },
  ): Promise<Outcome> {
    const attempt = thing.state.attempt(state);
    const answer = await this.#tried(thing, call);
    if (answer === undefined) {
      thing.isDoubtful = true;
      if (thing.id === undefined) thing.isOver = true;
      return undefined;
    }
    thing.state.acknowledge(attempt);
    this.#acknowledgedAtMs.push(this.#options.clock.monotonicMs());
    if (state === ABSENT) thing.isOver = true;
    return answer;
  }

  async #tried(
    thing: Thing,
    call: { method: 'POST' | 'PATCH' | 'DELETE'; path: string; body?: unknown },
  ): Promise<Outcome> {
    try {
      return await this.#options.client.json({ ...call, signal: AbortSignal.timeout(CALL_TIMEOUT_MS) });
    } catch (error) {
      if (error instanceof GatewayUnreachable || error instanceof SyntaxError) return undefined;
      if (!(error instanceof GatewayRefusal)) throw error;
      if (error.status === 404 && call.method === 'DELETE' && thing.isDoubtful) {
        // Removed by a call whose answer was lost or a 503. This is no acknowledgement: a failing disk may undo it.
        thing.isOver = true;
        return undefined;
      }
      this.refusals.push(`${call.method} ${call.path}: ${error.message}`);
      return undefined;
    }
  }

  async #make(kind: Kind): Promise<boolean> {
    const { random } = this.#options;
    const number = this.#made++;
    const name = `${kind}-${number}`;
    const role = random.pick(ROLES);
    const thing = this.#add(kind, name);
    switch (kind) {
      case 'user': {
        const body = { name, role, password: PASSWORD };
        const answer = await this.#attempt(thing, role, { method: 'POST', path: '/auth/users', body });
        thing.id = (answer?.['user'] as { id: string } | undefined)?.id;
        break;
      }
      case 'token': {
        const answer = await this.#attempt(thing, role, {
          method: 'POST',
          path: '/auth/tokens',
          body: { name, role },
        });
        thing.id = (answer?.['access_token'] as { id: string } | undefined)?.id;
        if (answer) thing.secret = String(answer['token']);
        break;
      }
      case 'rule': {
        const disable = random.chance(0.5);
        const body = { slug: name, script: scriptOf(number), disable };
        const answer = await this.#attempt(thing, ruleState(number, disable), {
          method: 'POST',
          path: RULES,
          body,
        });
        if (answer) thing.id = name;
        break;
      }
      default: {
        const answer = await this.#attempt(thing, name, {
          method: 'POST',
          path: '/provisioning/standalone',
          body: { name },
        });
        thing.id = answer?.['device_id'] as string | undefined;
      }
    }
    return thing.id !== undefined;
  }

  async #change(kind: Kind, thing: Thing): Promise<boolean> {
    const { random } = this.#options;
    const number = this.#made++;
    switch (kind) {
      case 'user': {
        const role = random.pick(ROLES);
        return isDone(
          await this.#attempt(thing, role, {
            method: 'PATCH',
            path: `/auth/users/${thing.id}`,
            body: { role },
          }),
        );
      }
      case 'rule':
        return this.#changeRule(thing, number);
      case 'device': {
        const name = `${thing.name} renamed ${number}`;
        return isDone(
          await this.#attempt(thing, name, { method: 'PATCH', path: `/devices/${thing.id}`, body: { name } }),
        );
      }
      default:
        return this.#remove(kind, thing);
    }
  }

  /** Its script is changed, or whether it is enabled. */
  async #changeRule(thing: Thing, number: number): Promise<boolean> {
    const [script = '', flag] = (thing.state.latest ?? '').split(' ');
    if (this.#options.random.chance(0.5)) {
      const disable = flag === 'enabled';
      const path = `${RULES}/${thing.id}/${disable ? 'disable' : 'enable'}`;
      return isDone(await this.#attempt(thing, ruleState(Number(script), disable), { method: 'POST', path }));
    }
    const path = `${RULES}/${thing.id}/update_script`;
    const state = ruleState(number, flag === 'disabled');
    return isDone(
      await this.#attempt(thing, state, { method: 'POST', path, body: { script: scriptOf(number) } }),
    );
  }

  async #remove(kind: Kind, thing: Thing): Promise<boolean> {
    const path = { user: '/auth/users/', token: '/auth/tokens/', rule: `${RULES}/`, device: '/devices/' }[
      kind as 'user'
    ];
    return isDone(await this.#attempt(thing, ABSENT, { method: 'DELETE', path: `${path}${thing.id}` }));
  }

  async #changeSite(): Promise<boolean> {
    const [thing] = this.#things.get('site') as [Thing];
    const name = `Site ${this.#made++}`;
    return isDone(await this.#attempt(thing, name, { method: 'PATCH', path: '/site', body: { name } }));
  }

  async #configure(): Promise<boolean> {
    const [thing] = this.#things.get('configuration') as [Thing];
    // Every value differs from the one before, so that an old one is seen.
    const value = 5 + (this.#made++ % 40);
    const path = `/devices/${this.#options.deviceId}/configuration/limits`;
    const body = { set: { minimum_soc_percent: value } };
    return isDone(await this.#attempt(thing, String(value), { method: 'PATCH', path, body }));
  }

  /** Reads all of it back, by another client when the gateway is another one. */
  async verify(
    { client, statusWith }: Pick<PeopleOptions, 'client' | 'statusWith'> = this.#options,
  ): Promise<Problem[]> {
    const floors = new Map(
      [...this.#things.values()].flat().map((thing) => [thing, thing.state.floor] as const),
    );
    const sinceMs = this.#options.clock.monotonicMs() - AUDIT_KEPT_MS;
    const changes = this.#acknowledgedAtMs.filter((atMs) => atMs > sinceMs).length;
    const found = await this.#read(client);
    const problems: Problem[] = [];
    for (const [kind, things] of this.#things) {
      const states = found.get(kind) ?? new Map<string, string[]>();
      for (const thing of things) {
        const floor = floors.get(thing);
        if (floor === undefined) continue;
        const [state = ABSENT, ...others] =
          states.get(thing.id ?? thing.name) ?? states.get(thing.name) ?? [];
        if (others.length > 0) problems.push({ kind: 'doubled', item: `${kind} ${thing.name}` });
        // Never acknowledged: it may be there or not.
        if (floor < 0 && state === ABSENT) continue;
        problems.push(...thing.state.judge(`${kind} ${thing.name}`, state, floor));
      }
    }
    problems.push(...(await this.#verifySecrets(statusWith)));
    if ((found.get('audit')?.get('count')?.map(Number)[0] ?? 0) < changes)
      problems.push({
        kind: 'lost',
        item: `audit trail: fewer entries than ${changes} acknowledged changes of the last weeks`,
      });
    return problems;
  }

  /** A token that is there opens, one that was revoked does not. */
  async #verifySecrets(statusWith: PeopleOptions['statusWith']): Promise<Problem[]> {
    const tokens = (this.#things.get('token') ?? []).filter(
      ({ secret, isDoubtful }) => secret && !isDoubtful,
    );
    const chosen = [tokens.findLast(({ isOver }) => isOver), tokens.findLast(({ isOver }) => !isOver)];
    const problems: Problem[] = [];
    for (const { name, secret = '', isOver } of chosen.filter((token) => token !== undefined)) {
      const status = await statusWith(secret);
      if (status !== (isOver ? 403 : 200))
        problems.push({
          kind: isOver ? 'wrong' : 'lost',
          item: `${isOver ? 'revoked ' : ''}token ${name} is answered ${status}`,
        });
    }
    return problems;
  }

  /** By id and by name, the states found. */
  async #read(client: GatewayClient): Promise<Map<string, Map<string, string[]>>> {
    const list = async (path: string, key: string): Promise<Record<string, unknown>[]> => {
      const all: Record<string, unknown>[] = [];
      for (;;) {
        const page = (
          await client.json({
            path: `${path}${path.includes('?') ? '&' : '?'}limit=${PAGE}&offset=${all.length}`,
          })
        )[key];
        all.push(...(page as Record<string, unknown>[]));
        if ((page as unknown[]).length < PAGE) return all;
      }
    };
    const by = (entries: readonly (readonly [string, string])[]): Map<string, string[]> =>
      entries.reduce(
        (map, [key, state]) => map.set(key, [...(map.get(key) ?? []), state]),
        new Map<string, string[]>(),
      );
    const users = await list('/auth/users', 'users');
    const tokens = await list('/auth/tokens?kind=ALL', 'access_tokens');
    const rules = await list(RULES, 'rules');
    const devices = await list('/devices', 'devices');
    const { site } = (await client.json({ path: '/site' })) as { site: { name: string } };
    const { configuration } = (await client.json({
      path: `/devices/${this.#options.deviceId}/configuration/limits`,
    })) as { configuration: Record<string, unknown> };
    const { total_count: audit } = await client.json({ path: '/audit?limit=1' });
    const named = (rows: Record<string, unknown>[], state: string) =>
      by(rows.map((row) => [String(row['name']), String(row[state])] as const));
    return new Map([
      ['user', named(users, 'role')],
      ['token', named(tokens, 'role')],
      ['rule', by(rules.map((rule) => [String(rule['slug']), stateOfRule(rule)] as const))],
      [
        'device',
        by(
          devices.flatMap(({ id, name }) => [
            [String(id), String(name)] as const,
            [String(name), String(name)] as const,
          ]),
        ),
      ],
      ['site', by([['name', site.name]])],
      ['configuration', by([['minimum_soc_percent', String(configuration['minimum_soc_percent'])]])],
      ['audit', by([['count', String(audit)]])],
    ]);
  }
}

const isDone = (answer: unknown): boolean => answer !== undefined;

function scriptOf(number: number): { code: string; runtime_version: string } {
  return { code: Buffer.from(`-- ${number}\n`).toString('base64'), runtime_version: 'V3' };
}

function ruleState(script: number, isDisabled: boolean): string {
  return `${script} ${isDisabled ? 'disabled' : 'enabled'}`;
}

function stateOfRule(rule: Record<string, unknown>): string {
  const { code } = rule['script'] as { code: string };
  const number = /^-- (\d+)/.exec(Buffer.from(code, 'base64').toString('utf8'))?.[1];
  return ruleState(Number(number), rule['disabled'] === true);
}
