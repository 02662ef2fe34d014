/**
 * Finds by their names what a script calls and what does not exist: functions of the rule API and of Lua's libraries, and
 * devices, attributes, properties and commands of the site (docs/interface/lua-rules.md#check). It warns only where a name
 * stands for one thing in the whole script, so that it is right rather than complete.
 */
import { nearName, nearNameHint } from '../../../lib/text.ts';
import type { RuleScript } from '../model.ts';
import { type Definitions, definitionsOf } from './definitions.ts';
import { type Member, type Members, RULE_API, type RuleApi } from './rule-api.ts';
import { type Token, tokensOf } from './tokens.ts';

interface ScriptWarning {
  /** The first line is 1. */
  line: number;
  message: string;
}

/** Names that scripts may use of a device. */
export interface KnownDevice {
  slug: string;
  attribute: readonly string[];
  property: readonly string[];
  command: readonly string[];
}

export interface KnownSite {
  /** By id or slug. */
  device: (idOrSlug: string) => KnownDevice | undefined;
  devices: () => readonly KnownDevice[];
}

type Kind = 'attribute' | 'property' | 'command';

/** The value of a name. */
type Value =
  | { kind: 'text'; text: string }
  | { kind: 'library'; name: string }
  | { kind: 'device' | 'telemetry'; device: KnownDevice | undefined };

interface Call {
  /** First token of each argument. */
  given: readonly number[];
  /** The last one is a call or `...`, which may be any number of arguments. */
  isOpen: boolean;
  /** The token behind. */
  after: number;
}

/** Kind of name that the first argument of a function is. */
const NAMED: Readonly<Record<string, Kind>> = {
  now: 'attribute',
  avg: 'attribute',
  min: 'attribute',
  max: 'attribute',
  on_update: 'attribute',
  property: 'property',
  execute_command: 'command',
  execute: 'command',
};

/** Long names that only devices have: near ones are misspelt, whatever they are called on. */
const DEVICE_CALLS = ['execute_command', 'on_online_changed', 'implements'];
const GOES_ON = new Set([
  '.',
  ':',
  '(',
  '[',
  '{',
  '..',
  '+',
  '-',
  '*',
  '/',
  '//',
  '%',
  '^',
  '==',
  '~=',
  '<',
  '>',
  '<=',
  '>=',
  'and',
]);

/** At most `most`, by line; without a site only what the script itself shows. */
export function scriptWarnings(script: RuleScript, most: number, site?: KnownSite): ScriptWarning[] {
  return new ScriptCheck(script, most, site).warnings().toSorted((a, b) => a.line - b.line);
}

class ScriptCheck {
  readonly #tokens: readonly Token[];
  readonly #api: RuleApi;
  readonly #other: RuleApi;
  readonly #runtime: RuleScript['runtimeVersion'];
  readonly #most: number;
  readonly #site: KnownSite | undefined;
  readonly #own: Definitions;
  readonly #values = new Map<string, Value>();
  /** Dots that are judged. */
  readonly #seen = new Set<number>();
  readonly #found = new Map<string, ScriptWarning>();

  constructor({ code, runtimeVersion }: RuleScript, most: number, site: KnownSite | undefined) {
    this.#tokens = tokensOf(code);
    this.#own = definitionsOf(this.#tokens);
    this.#runtime = runtimeVersion;
    this.#api = RULE_API[runtimeVersion];
    this.#other = RULE_API[runtimeVersion === 'V1' ? 'V3' : 'V1'];
    this.#most = most;
    this.#site = site;
  }

  warnings(): ScriptWarning[] {
    for (const { names, from } of this.#own.assignments) this.#noteValues(names, from);
    for (const [at, { kind }] of this.#tokens.entries()) {
      if (this.#found.size >= this.#most) break;
      if (kind === 'name' && !this.#isDot(at - 1) && !this.#isKey(at)) this.#use(at);
    }
    for (const at of this.#tokens.keys()) {
      if (this.#found.size >= this.#most) break;
      if (this.#isDot(at) && !this.#seen.has(at)) this.#useOfAnything(at);
    }
    return [...this.#found.values()];
  }

  #is(at: number, value: string): boolean {
    const token = this.#tokens[at];
    return token?.value === value && token.kind !== 'text';
  }

  /** Before the name of a member. */
  #isDot(at: number): boolean {
    return (this.#is(at, '.') || this.#is(at, ':')) && this.#tokens[at + 1]?.kind === 'name';
  }

  #isKey(at: number): boolean {
    return this.#is(at + 1, '=') && (this.#is(at - 1, '{') || this.#is(at - 1, ','));
  }

  #name(at: number): string {
    return this.#tokens[at]?.value ?? '';
  }

  #warn(at: number, message: string): void {
    if (!this.#found.has(message)) this.#found.set(message, { line: this.#tokens[at]?.line ?? 1, message });
  }

  #warnOfRuntime(at: number, name: string): void {
    const other = this.#runtime === 'V1' ? 'V3' : 'V1';
    this.#warn(at, `${name} is of runtime ${other}; this rule has runtime ${this.#runtime}.`);
  }

  /** Names that get one value stand for it in the whole script. */
  #noteValues(names: readonly string[], from: number): void {
    let at = from;
    for (const name of names) {
      const { value, after } = this.#valueAt(at);
      if (value && this.#own.names.get(name) === 1) this.#values.set(name, value);
      if (!this.#is(after, ',')) return;
      at = after + 1;
    }
  }

  #valueAt(at: number): { value: Value | undefined; after: number } {
    const wrapped = this.#is(at, 'assert') ? this.#callAt(at + 1) : undefined;
    if (wrapped) return { value: this.#valueAt(wrapped.given[0] ?? at).value, after: wrapped.after };
    const text = this.#textAt(at);
    const { value, after } =
      text === undefined ? this.#chain(at, false) : { value: textValue(text), after: at + 1 };
    const next = this.#tokens[after];
    const goesOn = next?.kind === 'text' || (next && GOES_ON.has(next.value ?? '') && next.kind !== 'name');
    return goesOn ? { value: undefined, after: this.#tokens.length } : { value, after };
  }

  /** A text, or a name with a text as its only value. */
  #textAt(at: number): string | undefined {
    const token = this.#tokens[at];
    if (token?.kind === 'text') return token.value;
    const value = token?.kind === 'name' ? this.#values.get(token.value ?? '') : undefined;
    return value?.kind === 'text' ? value.text : undefined;
  }

  /** The same, if it is a whole argument. */
  #argument(at: number | undefined): string | undefined {
    if (at === undefined) return undefined;
    const isWhole = this.#tokens[at]?.kind === 'text' && this.#tokens[at - 1]?.kind === 'name';
    return isWhole || this.#is(at + 1, ',') || this.#is(at + 1, ')') ? this.#textAt(at) : undefined;
  }

  #callAt(at: number): Call | undefined {
    const opened = this.#tokens[at];
    if (opened?.kind === 'text') return { given: [at], isOpen: false, after: at + 1 };
    const isTable = this.#is(at, '{');
    if (!isTable && !this.#is(at, '(')) return undefined;
    const given = this.#is(at + 1, ')') ? [] : [at + 1];
    let depth = 0;
    let next = at;
    for (; next < this.#tokens.length; next++) {
      const { kind, value = '' } = this.#tokens[next] ?? { kind: 'sign' };
      if (kind === 'sign' && '({['.includes(value)) depth++;
      else if (kind === 'sign' && ')}]'.includes(value) && --depth === 0) break;
      else if (kind === 'keyword' && value === 'function') next = this.#endOfFunction(next);
      else if (depth === 1 && kind === 'sign' && value === ',') given.push(next + 1);
    }
    if (isTable) return { given: [at], isOpen: false, after: next + 1 };
    const isOpen = this.#is(next - 1, ')') || this.#is(next - 1, '...');
    return { given, isOpen, after: next + 1 };
  }

  /** The `end` of a function, whose commas separate nothing of the call around it. */
  #endOfFunction(at: number): number {
    let depth = 0;
    for (let next = at; next < this.#tokens.length; next++) {
      const { kind, value } = this.#tokens[next] ?? { kind: 'sign' };
      if (kind !== 'keyword') continue;
      if (value === 'function' || value === 'if' || value === 'do' || value === 'repeat') depth++;
      else if ((value === 'end' || value === 'until') && --depth === 0) return next;
    }
    return this.#tokens.length;
  }

  #use(at: number): void {
    const name = this.#name(at);
    const { names } = this.#own;
    if (names.has(name)) {
      if (this.#values.has(name)) this.#chain(at, true);
      return;
    }
    const isUsed = this.#isDot(at + 1) || this.#callAt(at + 1) !== undefined;
    const member = this.#api.libraries.get('')?.get(name);
    if (member) {
      this.#chain(at, true);
      if (member.takes) this.#checkCount(at, name, member);
    } else if (isUsed && this.#other.libraries.get('')?.has(name)) this.#useOfOther(at);
    else if (isUsed && !this.#own.isOpen && !this.#is(at - 1, 'goto')) {
      const known = [...(this.#api.libraries.get('')?.keys() ?? []), ...names.keys()];
      this.#warnOfMissing(at, 'Nothing is called', known, this.#other.libraries.get(''));
    }
  }

  /** A function or a library of the other runtime; a member that the library does not have either is named, too. */
  #useOfOther(at: number): void {
    const name = this.#name(at);
    const members = this.#isDot(at + 1) ? this.#other.libraries.get(name) : undefined;
    const member = this.#name(at + 2);
    if (members) this.#seen.add(at + 1);
    if (members?.has(member)) return this.#warnOfRuntime(at, `${name}.${member}`);
    this.#warnOfRuntime(at, name);
    if (members) this.#warnOfMissing(at + 2, `${name} has no`, [...members.keys()]);
  }

  /** With the name that was meant, which may be of the other runtime. */
  #warnOfMissing(at: number, sentence: string, known: readonly string[], others?: Members, owner = ''): void {
    const name = this.#name(at);
    const near = nearName(name, [...known, ...(others?.keys() ?? [])]);
    this.#warn(at, `${sentence} "${name}"${near === undefined ? '.' : `, did you mean "${near}"?`}`);
    if (near !== undefined && !known.includes(near)) this.#warnOfRuntime(at, `${owner}${near}`);
  }

  /** Follows members from a name on; with `judges` it warns. */
  #chain(at: number, judges: boolean): { value: Value | undefined; after: number } {
    const name = this.#name(at);
    const isLibrary = !this.#own.names.has(name) && this.#api.libraries.has(name);
    let value: Value | undefined = isLibrary ? { kind: 'library', name } : this.#values.get(name);
    let next = at + 1;
    if (this.#tokens[at]?.kind !== 'name') return { value: undefined, after: at };
    while (value && this.#isDot(next)) {
      if (judges) this.#seen.add(next);
      const member = this.#name(next + 1);
      const call = this.#callAt(next + 2);
      if (judges) this.#judge(value, next + 1, call);
      ({ value, next } = this.#step(value, member, call, next + 2));
    }
    return { value, after: next };
  }

  #step(
    value: Value,
    member: string,
    call: Call | undefined,
    behind: number,
  ): { value: Value | undefined; next: number } {
    const next = call?.after ?? behind;
    if (value.kind === 'library' && !call && this.#api.libraries.has(`${value.name}.${member}`))
      return { value: { kind: 'library', name: `${value.name}.${member}` }, next };
    if (value.kind === 'library' && value.name === 'enapter' && member === 'device' && call) {
      const slug = this.#argument(call.given[0]);
      const device = slug === undefined ? undefined : this.#site?.device(slug);
      return { value: { kind: 'device', device }, next };
    }
    if (value.kind === 'device' && member === 'telemetry' && !call)
      return { value: { kind: 'telemetry', device: value.device }, next };
    return { value: undefined, next };
  }

  #membersOf(api: RuleApi, value: Value): Members | undefined {
    if (value.kind === 'text') return undefined;
    return value.kind === 'library' ? api.libraries.get(value.name) : api[value.kind];
  }

  #judge(value: Value, at: number, call: Call | undefined): void {
    const name = this.#name(at);
    const members = this.#membersOf(this.#api, value);
    if (!members) return;
    const owner = value.kind === 'library' ? value.name : value.kind;
    const full = value.kind === 'device' ? name : `${owner}.${name}`;
    const member = members.get(name);
    if (!member) {
      const others = this.#membersOf(this.#other, value);
      const before = full.slice(0, -name.length);
      if (others?.has(name)) this.#warnOfRuntime(at, full);
      else if (!this.#own.members.has(name))
        this.#warnOfMissing(at, `${owner} has no`, [...members.keys()], others, before);
      return;
    }
    this.#checkCount(at, full, member);
    if (!call) return;
    const [first, second] = call.given;
    if (value.kind === 'library') {
      if (full === 'enapter.device') this.#checkDevice(first);
      if (owner === 'output') this.#checkOutput(first, second);
    } else if (value.kind !== 'text') this.#checkName(first, NAMED[name], value.device && [value.device]);
  }

  #checkCount(at: number, name: string, { takes }: Member): void {
    const call = takes && !this.#is(at - 1, 'function') ? this.#callAt(at + 1) : undefined;
    if (!call || !takes) return;
    const count = call.given.length;
    const isWrong = call.isOpen ? count - 1 > takes.most : count < takes.least || count > takes.most;
    const wanted = takes.least === takes.most ? takes.least : `${takes.least} to ${takes.most}`;
    if (isWrong) this.#warn(at, `Arguments of ${name}: ${wanted} expected, ${count} given.`);
  }

  #checkDevice(at: number | undefined): void {
    const slug = this.#argument(at);
    if (at === undefined || slug === undefined || !this.#site || this.#site.device(slug)) return;
    const hint = nearNameHint(
      slug,
      this.#site.devices().map((device) => device.slug),
    );
    this.#warn(at, `The site has no device "${slug}"${hint || '.'}`);
  }

  /** A device, or its id or slug, and a command. */
  #checkOutput(first: number | undefined, second: number | undefined): void {
    if (first === undefined) return;
    this.#checkDevice(first);
    const slug = this.#argument(first);
    const value = this.#values.get(this.#name(first));
    const device = slug === undefined ? value?.kind === 'device' && value.device : this.#site?.device(slug);
    if (device) this.#checkName(second, 'command', [device]);
  }

  /** Without `devices` nothing is known of them. */
  #checkName(
    at: number | undefined,
    kind: Kind | undefined,
    devices: readonly KnownDevice[] | undefined,
  ): void {
    const name = this.#argument(at);
    if (at === undefined || name === undefined || !kind || !devices || devices.length === 0) return;
    const known = devices.flatMap((device) => device[kind]);
    if (known.includes(name)) return;
    const [only] = devices;
    const owner = only && devices.length === 1 ? `Device "${only.slug}" has no` : 'No device has the';
    this.#warn(at, `${owner} ${kind} "${name}"${nearNameHint(name, known) || '.'}`);
  }

  /** A member of what the check does not know. */
  #useOfAnything(at: number): void {
    const name = this.#name(at + 1);
    const call = this.#callAt(at + 2);
    const isTelemetry = this.#is(at - 1, 'telemetry');
    const { [isTelemetry ? 'telemetry' : 'device']: members } = this.#api;
    const { [isTelemetry ? 'telemetry' : 'device']: others } = this.#other;
    if (!call || this.#own.members.has(name)) return;
    if (members.has(name)) {
      // Other tables may have functions of the short names, too.
      if (isTelemetry || name === 'execute_command')
        this.#checkName(call.given[0], NAMED[name], this.#site?.devices());
    } else if (others.has(name)) this.#warnOfRuntime(at + 1, isTelemetry ? `telemetry.${name}` : name);
    else {
      const known = isTelemetry ? [...members.keys()] : DEVICE_CALLS.filter((call) => members.has(call));
      if (nearName(name, isTelemetry ? [...known, ...others.keys()] : DEVICE_CALLS) === undefined) return;
      const owner = isTelemetry ? 'telemetry' : 'device';
      this.#warnOfMissing(at + 1, `${owner} has no`, known, others, isTelemetry ? 'telemetry.' : '');
    }
  }
}

const textValue = (text: string): Value => ({ kind: 'text', text });
