/** The form of a site file (docs/fleet.md#one-file-for-a-box): bodies of operations of the interface in one document. */
import * as v from 'valibot';
import { newUserBody } from '../capabilities/auth/index.ts';
import { deviceName } from '../capabilities/devices/index.ts';
import { tariffsBody } from '../capabilities/energy/index.ts';
import { newSiteBody } from '../capabilities/site/index.ts';
import { newChannelBody } from '../capabilities/notifications/index.ts';
import { newRuleBody } from '../capabilities/rules/index.ts';
import { newTargetBody } from '../capabilities/targets/index.ts';
import { LIMITS } from '../lib/limits.ts';
import { issueText, shape } from '../platform/http/index.ts';

const { entries } = LIMITS.siteFile;

const listOf = <Schema extends v.GenericSchema>(schema: Schema) =>
  v.nullish(
    v.pipe(v.array(shape.noList(schema)), v.maxLength(entries, `must have at most ${entries} entries`)),
    [],
  );

const text = v.pipe(v.string(), v.minLength(1, 'must not be empty'));

const blueprint = v.object({ name: shape.name(), file: text });

const device = v.pipe(
  v.object({
    slug: shape.slug(),
    name: deviceName,
    type: v.picklist(['STANDALONE', 'LUA'], 'must be one of: STANDALONE, LUA'),
    blueprint: v.optional(text),
    runtime: v.optional(text),
    /** Group → parameter → value. */
    configuration: v.nullish(v.record(text, v.nullable(v.record(text, v.unknown())))),
  }),
  v.check(
    ({ type, blueprint: named }) => type !== 'LUA' || named !== undefined,
    'must have blueprint, because it is a LUA device',
  ),
  v.check(
    ({ type, runtime }) => type === 'LUA' || runtime === undefined,
    'must not have runtime, because it is no LUA device',
  ),
);

const { slug: ruleSlug, script } = newRuleBody.entries;
const rule = v.object({
  slug: ruleSlug,
  file: text,
  runtime_version: v.optional(script.entries.runtime_version, 'V3'),
  exec_interval: script.entries.exec_interval,
  enabled: v.nullish(v.boolean()),
});

const fileShape = shape.noList(
  v.object(
    {
      site: v.nullish(shape.noList(newSiteBody)),
      users: listOf(newUserBody),
      blueprints: listOf(blueprint),
      targets: listOf(newTargetBody),
      devices: listOf(device),
      tariffs: v.nullish(shape.noList(tariffsBody)),
      rules: listOf(rule),
      notifications: listOf(newChannelBody),
    },
    'must be an object',
  ),
);

type Judged = v.InferOutput<typeof fileShape>;
export type WantedSite = NonNullable<Judged['site']>;
export type WantedTariffs = NonNullable<Judged['tariffs']>;
export type WantedUser = Judged['users'][number];
export type NamedRule = Judged['rules'][number];
export type WantedDevice = Judged['devices'][number];

interface Fault {
  path: string;
  message: string;
}

/** The checked document, or all of its faults. */
export function judge(document: unknown): { judged: Judged | undefined; faults: Fault[] } {
  const result = v.safeParse(fileShape, document ?? {});
  return {
    judged: result.success ? result.output : undefined,
    faults: [...unknownMembers(fileShape, document, ''), ...(result.issues ?? []).map(faultOf)],
  };
}

/** Faults of a script in the form of the interface. */
export function faultsOfScript(given: object): Fault[] {
  return (v.safeParse(script, given).issues ?? []).map(faultOf);
}

function faultOf(issue: v.BaseIssue<unknown>): Fault {
  return { path: (v.getDotPath(issue) ?? '').replace(/\.(\d+)/g, '[$1]'), message: issueText(issue) };
}

/** Parts of a schema of any kind. */
interface Parts {
  kind?: string;
  entries?: Record<string, Parts>;
  item?: Parts;
  wrapped?: Parts;
  pipe?: readonly Parts[];
}

/** Members that no schema knows. Operations of the interface ignore them, but in a file they are mistakes. */
function unknownMembers(schema: Parts, value: unknown, path: string): Fault[] {
  const { entries: known, item, wrapped, pipe } = schema;
  if (pipe)
    return pipe.filter(({ kind }) => kind === 'schema').flatMap((part) => unknownMembers(part, value, path));
  if (wrapped) return unknownMembers(wrapped, value, path);
  if (item && Array.isArray(value))
    return value.flatMap((one, index) => unknownMembers(item, one, `${path}[${index}]`));
  if (!known || typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const at = path === '' ? name : `${path}.${name}`;
    const part = Object.hasOwn(known, name) ? known[name] : undefined;
    if (part) return unknownMembers(part, member, at);
    return [{ path: at, message: `is unknown; known are ${Object.keys(known).join(', ')}` }];
  });
}
