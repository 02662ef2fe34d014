/** Shapes on the wire. Source: docs/interface/http.md#outputs. */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { type Role, roleIncludes } from '../../lib/role.ts';
import { formatTimestamp } from '../../lib/time.ts';
import { query, shape } from '../../platform/http/index.ts';
import type { Output } from './arbiter.ts';
import { type OutputCommand, ranked } from './model.ts';
import type { Outputs } from './service.ts';
import type { OutputChange } from './store.ts';
import { CHANGE_SOURCES } from './tables.ts';

export const listQuery = v.object({
  'device_id.in': query.optionalList('Outputs of these devices, by id or slug.'),
  'rule_id.in': query.optionalList('Outputs of which one of these rules asks something, by id.'),
  expand: query.choices(['requests'], 'requests: with what each rule asks, the highest priority first.'),
  ...query.page(),
});

export const oneQuery = v.object({ expand: listQuery.entries.expand });

export const changesQuery = v.object(query.page(LIMITS.outputs.changes));

const commandEntries = { name: v.string(), arguments: shape.anyObject() };
const bounds = () => v.record(v.string(), v.number());
const slugs = () => shape.about(v.array(v.string()), 'Slugs of the rules whose bounds changed the numbers.');
const error = () => v.optional(shape.about(v.string(), 'Absent: the device has accepted it.'));
const askedBy = () =>
  shape.about(
    v.optional(v.string()),
    'Slug of a rule, or name of a user or token; names of people are not shown below the role USER.',
  );

const changeShape = shape.named(
  'OutputChange',
  v.object({
    at: shape.instant(),
    source: shape.about(
      v.picklist(CHANGE_SOURCES),
      'REQUEST: a rule asked for it. SAFE: it is the safe command. OTHER: somebody sent it to the device.',
    ),
    ...commandEntries,
    by: askedBy(),
    limited_by: slugs(),
    error: error(),
  }),
  {
    at: '2026-03-01T12:00:00.000Z',
    source: 'REQUEST',
    name: 'set_current',
    arguments: { current: 10 },
    by: 'surplus-car',
    limited_by: ['peak-limit'],
  },
);

const requestShape = v.object({
  rule_id: v.string(),
  rule_slug: v.string(),
  priority: v.number(),
  name: v.string(),
  arguments: v.optional(shape.about(shape.anyObject(), 'Absent: it only limits what others ask for.')),
  min: bounds(),
  max: bounds(),
  valid_until: shape.instant(),
});

const outputShape = shape.named(
  'Output',
  v.object({
    id: shape.id(),
    device_id: shape.id(),
    device_name: v.string(),
    name: v.optional(shape.about(v.string(), 'Given by rules where outputs of a device share commands.')),
    commands: shape.about(v.array(v.string()), 'Names of the commands that set it.'),
    is_held: shape.about(v.boolean(), 'false: no rule holds it, and the safe command was accepted.'),
    holder: v.optional(shape.about(v.string(), 'Slug of the rule whose command holds.')),
    limited_by: slugs(),
    valid_until: v.optional(shape.about(shape.instant(), 'Of the request that holds.')),
    command: v.optional(
      shape.about(
        v.object({ ...commandEntries, sent_at: shape.instant(), error: error() }),
        'The last one that was sent since the gateway started.',
      ),
    ),
    other_command: v.optional(
      shape.about(
        v.object({ ...commandEntries, at: shape.instant(), by: askedBy() }),
        'What somebody else has sent since.',
      ),
    ),
    safe: v.optional(shape.about(v.object(commandEntries), 'Sent when no rule asks any more.')),
    requests: v.optional(shape.about(v.array(requestShape), 'With `expand=requests`.')),
  }),
  {
    id: '6f1f0d8e-3c8f-4e0a-9a39-0c2f6a0b7d55',
    device_id: 'c1a5b8b2-0f0e-4a36-8a55-5b1f3b8a9d01',
    device_name: 'Charger 1',
    commands: ['set_current', 'stop'],
    is_held: true,
    holder: 'surplus-car',
    limited_by: ['peak-limit'],
    valid_until: '2026-03-01T12:00:45.000Z',
    command: {
      name: 'set_current',
      arguments: { current: 10 },
      sent_at: '2026-03-01T12:00:00.000Z',
    },
    safe: { name: 'stop', arguments: {} },
  },
);

export type OutputOnWire = v.InferOutput<typeof outputShape>;
export type OutputChangeOnWire = v.InferOutput<typeof changeShape>;

export const outputShapes = {
  one: v.object({ output: outputShape }),
  list: shape.listOf('outputs', outputShape),
  changes: shape.listOf('changes', changeShape),
};

interface Reader {
  outputs: Outputs;
  role: Role;
  /** Wall time of a moment of the monotonic clock. */
  wallMs: (monotonicMs: number) => number;
}

export function outputToWire(reader: Reader, output: Output, isExpanded: boolean): OutputOnWire {
  const { outputs, role, wallMs } = reader;
  const commandToWire = ({ name, arguments: given }: OutputCommand) => ({
    name,
    arguments: outputs.shown(output.deviceId, { name, arguments: given }, role) ?? {},
  });
  const { last, safe } = output;
  const decision = outputs.decision(output);
  const holder = decision?.source === 'REQUEST' ? decision.rule : undefined;
  const until = holder && output.requests.get(holder.id)?.untilMs;
  const other = outputs.otherCommand(output);
  return {
    id: output.id,
    device_id: output.deviceId,
    device_name: outputs.deviceName(output),
    ...(output.part && { name: output.part }),
    commands: [...output.commands].toSorted(),
    is_held: safe !== undefined,
    ...(holder && { holder: holder.slug }),
    limited_by: decision?.limitedBy.map(({ slug }) => slug) ?? [],
    ...(until !== undefined && { valid_until: formatTimestamp(wallMs(until)) }),
    ...(last && {
      command: {
        ...commandToWire(last.command),
        sent_at: formatTimestamp(last.atMs),
        ...(last.fault !== undefined && { error: last.fault }),
      },
    }),
    ...(other && {
      other_command: {
        ...commandToWire(other.command),
        at: formatTimestamp(other.atMs),
        ...byOf(other.origin, role),
      },
    }),
    ...(safe && { safe: commandToWire(safe.command) }),
    ...(isExpanded && {
      requests: ranked(output.requests.values()).map((request) => ({
        rule_id: request.rule.id,
        rule_slug: request.rule.slug,
        priority: request.priority,
        name: request.name,
        ...(request.arguments && commandToWire({ name: request.name, arguments: request.arguments })),
        min: { ...request.min },
        max: { ...request.max },
        valid_until: formatTimestamp(wallMs(request.untilMs)),
      })),
    }),
  };
}

export function changeToWire(change: OutputChange, role: Role): OutputChangeOnWire {
  return {
    at: formatTimestamp(change.atMs),
    source: change.source,
    name: change.command.name,
    arguments: { ...change.command.arguments },
    ...byOf(change.origin, role),
    limited_by: change.limitedBy,
    ...(change.error !== null && { error: change.error }),
  };
}

function byOf({ kind, name }: OutputChange['origin'], role: Role): { by?: string } {
  return kind === 'rule' || roleIncludes(role, 'USER') ? { by: name } : {};
}
