/** Shapes on the wire. Source: docs/interface/http.md#commands. */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { formatTimestamp } from '../../lib/time.ts';
import { query, shape } from '../../platform/http/index.ts';
import type { ResponseState } from '../../protocol/command.ts';
import { DEVICE_TYPES, type Device, type Devices } from '../devices/index.ts';
import {
  type CommandResponse,
  type Execution,
  EXECUTION_STATES,
  ORDERS,
  RETENTIONS,
  type Retention,
} from './model.ts';
import type { CommandRequest, ListQuery } from './service.ts';

/** Kept as sent, whatever its keys are called, so that an unknown argument is named and not lost. */
const argumentsObject = shape.anyNames({ value: 5 });

export const requestBody = v.pipe(
  v.object({
    name: v.pipe(
      v.string(),
      v.minLength(1, 'must not be empty'),
      v.description('Name of the command, or one of its aliases.'),
      v.examples(['set_limit']),
    ),
    arguments: v.nullish(argumentsObject),
    ephemeral: v.nullish(v.boolean()),
  }),
  shape.example({ name: 'set_mode', arguments: { mode: 'backup', reserve_percent: 80 } }),
  v.transform((body): CommandRequest => ({
    name: body.name,
    arguments: body.arguments ?? {},
    ephemeral: body.ephemeral ?? false,
  })),
);

const LOG_ABOUT = 'log: with what the device answered on the way.';

export const expandQuery = v.object({ expand: query.choices(['log'], LOG_ABOUT) });

const listEntries = {
  // Older clients ask for ephemeral executions by `expand`.
  expand: query.choices(['log', 'ephemeral'], `${LOG_ABOUT} ephemeral: older form of retention=ALL.`),
  retention: query.optionalChoice(RETENTIONS, {
    default: 'PERSISTENT',
    description:
      'Executions that are kept, those that are not, or both; with expand=ephemeral the default is ALL.',
  }),
  order: query.choice(ORDERS, 'CREATED_AT_ASC', 'Oldest or newest first.'),
  'created_at.gte': query.instant('Executions created at this moment or later.'),
  'created_at.lt': query.instant('Executions created before this moment.'),
  'state.in': query.optionalChoices(EXECUTION_STATES, 'Executions in one of these states.'),
  'name.in': query.optionalList('Executions of one of these commands.'),
  ...query.page(LIMITS.commands.pageItems),
};

export const listQuery = v.object(listEntries);

export const siteListQuery = v.object({
  ...listEntries,
  'device_id.in': query.optionalList('Of devices with one of these ids or slugs.'),
  'device.profiles.has_all': query.optionalList('Of devices that implement all of these profiles.'),
  'device.child_type.in': query.optionalChoices(DEVICE_TYPES, 'Of devices of one of these types.'),
  'device.parent_id.in': query.optionalList('Of devices that run on one of these modules, by id or slug.'),
});

export type ListInput = v.InferOutput<typeof listQuery>;

export function listQueryOf(input: ListInput, deviceIds: readonly string[] | undefined): ListQuery {
  const assumed: Retention = input.expand.includes('ephemeral') ? 'ALL' : 'PERSISTENT';
  return {
    deviceIds,
    retention: input.retention ?? assumed,
    createdFromMs: input['created_at.gte'],
    createdBeforeMs: input['created_at.lt'],
    states: input['state.in'],
    names: input['name.in'],
    descending: input.order === 'CREATED_AT_DESC',
    limit: input.limit,
    offset: input.offset,
  };
}

/**
 * Ids of the devices that pass the site list's device filters; undefined when none is given.
 * @throws GatewayError device_not_found, profile_not_found (404)
 */
export function deviceIdsOf(
  input: v.InferOutput<typeof siteListQuery>,
  devices: Devices,
): readonly string[] | undefined {
  const idsOf = (names: string[]): Set<string> => new Set(names.map((name) => devices.require(name).id));
  const conditions: ((device: Device) => boolean)[] = [];
  const named = input['device_id.in'];
  if (named) {
    const ids = idsOf(named);
    conditions.push((device) => ids.has(device.id));
  }
  const profiles = input['device.profiles.has_all']?.map((id) => devices.requireProfile(id));
  if (profiles)
    conditions.push((device) => {
      const implemented = devices.manifest(device).implements;
      return profiles.every((profile) => implemented.includes(profile));
    });
  const types = input['device.child_type.in'];
  if (types) conditions.push((device) => types.includes(device.type));
  const parents = input['device.parent_id.in'];
  if (parents) {
    const ids = idsOf(parents);
    conditions.push(
      ({ communication }) => communication.upstreamId !== undefined && ids.has(communication.upstreamId),
    );
  }
  if (conditions.length === 0) return undefined;
  return devices
    .all()
    .filter((device) => conditions.every((holds) => holds(device)))
    .map(({ id }) => id);
}

const responseShape = shape.named(
  'CommandResponse',
  v.object({
    state: v.picklist(['STARTED', 'IN_PROGRESS', 'SUCCEEDED', 'ERROR'] satisfies ResponseState[]),
    payload: shape.about(shape.anyObject(), 'With state ERROR its `message` is a text.'),
    received_at: shape.instant(),
  }),
  { state: 'SUCCEEDED', payload: { result: null }, received_at: '2026-03-01T08:00:01.200Z' },
);

const executionShape = shape.named(
  'Execution',
  v.object({
    id: shape.id(),
    device_id: shape.id(),
    state: v.picklist(EXECUTION_STATES),
    ephemeral: v.boolean(),
    created_at: shape.instant(),
    request: v.object({ name: v.string(), arguments: shape.anyObject(), manifest_name: v.string() }),
    response: v.optional(shape.about(responseShape, 'The newest; absent while there is none.')),
    log: v.optional(shape.about(v.array(responseShape), 'Newest first.')),
  }),
  {
    id: '0d9f1a52-51d7-4f51-9c66-8f8f3f6c2b10',
    device_id: 'c1a5b8b2-0f0e-4a36-8a55-5b1f3b8a9d01',
    state: 'SUCCESS',
    ephemeral: false,
    created_at: '2026-03-01T08:00:00.000Z',
    request: { name: 'set_limit', arguments: { value: 5 }, manifest_name: 'set_limit' },
    response: { state: 'SUCCEEDED', payload: { result: null }, received_at: '2026-03-01T08:00:01.200Z' },
  },
);

export type ExecutionOnWire = v.InferOutput<typeof executionShape>;

export const executionShapes = {
  one: v.object({ execution: executionShape }),
  list: shape.listOf('executions', executionShape),
  id: v.object({ execution_id: shape.id() }),
};

/** `log` is given for `expand=log`, newest first. */
export function toWire(execution: Execution, log?: readonly CommandResponse[]) {
  return {
    id: execution.id,
    device_id: execution.deviceId,
    state: execution.state,
    ephemeral: execution.ephemeral,
    created_at: formatTimestamp(execution.createdAtMs),
    request: {
      name: execution.request.name,
      arguments: execution.request.arguments,
      manifest_name: execution.request.manifestName,
    },
    ...(execution.response && { response: responseToWire(execution.response) }),
    ...(log && { log: log.map(responseToWire) }),
  };
}

function responseToWire({ state, payload, receivedAtMs }: CommandResponse) {
  return { state, payload, received_at: formatTimestamp(receivedAtMs) };
}
