/** Reads everything back through the public API and judges it by the journal. */
import type { Clock } from '../../../src/platform/clock/index.ts';
import { type GatewayClient, inParallel } from '../../support/gateway-client.ts';
import { parseCsv } from '../../../src/lib/csv.ts';
import type { DeviceActor } from './device-actor.ts';
import type { ExecutionJournal, ListedExecution } from './execution-journal.ts';
import { judgeList, type Problem } from './journal.ts';
import { type Attribute, judgeAverages, judgeSamples, sampleValue } from './samples.ts';

export interface World {
  client: GatewayClient;
  actors: readonly DeviceActor[];
  attributes: readonly Attribute[];
  property: string;
  tagArgument: string;
  executions: ExecutionJournal;
  clock: Clock;
  /** Wall clock when the check began. */
  beganAtMs: number;
}

/** What was judged, and what was wrong. */
export interface Verdict {
  samples: number;
  logs: number;
  settings: number;
  properties: number;
  executions: number;
  problems: Problem[];
}

const REQUESTS_AT_ONCE = 6;
const LOG_PAGE = 50;
/** What a message brought can be read after its group commit, a second later at most. */
const SETTLE_MS = 2_000;
const EXECUTION_PAGE = 500;
const AVERAGE_BUCKET_S = 10;
/** Devices per request: the query of more would not fit the limit of the request line. */
const LATEST_DEVICES = 10;

export async function verify(world: World, runStartedAtMs: number): Promise<Verdict> {
  const settled = { atMs: world.clock.wallMs(), monotonicMs: world.clock.monotonicMs() };
  const logs = world.actors.map((actor) => actor.logs.acknowledged());
  const executions = await verifyExecutions(world, runStartedAtMs);
  const records = await verifyDeviceRecords(world);
  const latest = await verifyLatest(world);
  const series = await inParallel(world.actors, REQUESTS_AT_ONCE, (actor) => verifySeries(world, actor));
  // Pages shift when an entry of before comes to light between two of them.
  await world.clock.sleep(Math.max(0, settled.monotonicMs + SETTLE_MS - world.clock.monotonicMs()));
  const logProblems = await inParallel(world.actors, REQUESTS_AT_ONCE, (actor, index) =>
    verifyLogs(world, actor, logs[index] ?? [], settled.atMs),
  );
  return {
    samples: series.reduce((total, { judged }) => total + judged, 0),
    logs: logs.reduce((total, required) => total + required.length, 0),
    settings: world.actors.reduce((total, actor) => total + actor.name.acknowledgedCount, 0),
    properties: world.actors.reduce((total, actor) => total + actor.property.acknowledgedCount, 0),
    executions: world.executions.acknowledgedCount,
    problems: [
      ...executions,
      ...records,
      ...latest,
      ...series.flatMap(({ problems }) => problems),
      ...logProblems.flat(),
    ],
  };
}

/** Samples and log entries alone, of a gateway that has a copy of the data. Nobody may be sending. */
export async function verifyHistory(world: World): Promise<Problem[]> {
  const untilMs = world.clock.wallMs() + 1_000;
  const series = await inParallel(world.actors, REQUESTS_AT_ONCE, (actor) => verifySeries(world, actor));
  const logs = await inParallel(world.actors, REQUESTS_AT_ONCE, (actor) =>
    verifyLogs(world, actor, actor.logs.acknowledged(), untilMs),
  );
  return [...series.flatMap(({ problems }) => problems), ...logs.flat()];
}

/** Names and properties of all devices. */
async function verifyDeviceRecords(world: World): Promise<Problem[]> {
  const floors = world.actors.map((actor) => ({ name: actor.name.floor, property: actor.property.floor }));
  const answer = await world.client.json({ path: '/devices?limit=1000&expand=properties' });
  const devices = answer['devices'] as { id: string; name: string; properties: Record<string, unknown> }[];
  const byId = new Map(devices.map((device) => [device.id, device]));
  return world.actors.flatMap((actor, index): Problem[] => {
    const device = byId.get(actor.device.id);
    if (!device) return [{ kind: 'lost', item: `device ${actor.index} (${actor.device.id})` }];
    const floor = floors[index] ?? { name: -1, property: -1 };
    return [
      ...actor.name.judge(`name of device ${actor.index}`, device.name, floor.name),
      ...actor.property.judge(
        `property ${world.property} of device ${actor.index}`,
        device.properties[world.property],
        floor.property,
      ),
    ];
  });
}

/** The latest values are those of the newest acknowledged sample, or of a newer one. */
async function verifyLatest(world: World): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (let first = 0; first < world.actors.length; first += LATEST_DEVICES) {
    const actors = world.actors.slice(first, first + LATEST_DEVICES);
    const newest = actors.map((actor) => Math.max(0, ...actor.samples.acknowledged()));
    const names = world.attributes.map(({ name }) => name).join(',');
    const devices = actors.map(({ device }) => `devices[${device.id}]=${names}`).join('&');
    const answer = await world.client.json({ path: `/telemetry/latest?relevance_interval=1d&${devices}` });
    const telemetry = answer['telemetry'] as Record<
      string,
      Record<string, { value?: unknown; timestamp?: number }>
    >;
    for (const [index, actor] of actors.entries())
      problems.push(
        ...judgeLatest(actor, world.attributes, newest[index] ?? 0, telemetry[actor.device.id] ?? {}),
      );
  }
  return problems;
}

function judgeLatest(
  actor: DeviceActor,
  attributes: readonly Attribute[],
  newestS: number,
  values: Record<string, { value?: unknown; timestamp?: number }>,
): Problem[] {
  return attributes.flatMap((attribute): Problem[] => {
    const { value, timestamp } = values[attribute.name] ?? {};
    const item = `latest ${attribute.name} of device ${actor.index}`;
    if (timestamp === undefined)
      return newestS === 0 ? [] : [{ kind: 'lost', item: `${item}, acknowledged for ${newestS}` }];
    if (timestamp < newestS)
      return [{ kind: 'lost', item: `${item} is of ${timestamp}, acknowledged was ${newestS}` }];
    const expected = JSON.stringify(sampleValue(actor.index, timestamp, attribute));
    if (actor.samples.has(timestamp) && JSON.stringify(value) === expected) return [];
    return [{ kind: 'wrong', item: `${item} is ${JSON.stringify(value)}, sent was ${expected}` }];
  });
}

async function verifySeries(
  world: World,
  actor: DeviceActor,
): Promise<{ judged: number; problems: Problem[] }> {
  const required = actor.samples.acknowledged();
  const settled = new Set(required);
  if (settled.size === 0) return { judged: 0, problems: [] };
  const numeric = world.attributes.filter(({ type }) => type === 'float' || type === 'integer');
  const seconds = await series(world, actor, world.attributes, '1s', 'last');
  const averages = await series(world, actor, numeric, `${AVERAGE_BUCKET_S}s`, 'avg');
  return {
    judged: required.length,
    problems: [
      ...judgeSamples(actor.index, world.attributes, actor.samples, required, seconds),
      ...judgeAverages(actor.index, numeric, AVERAGE_BUCKET_S, (second) => settled.has(second), averages),
    ],
  };
}

/** Rows without the header, cells in the order of the attributes; the answer has its own order. */
async function series(
  world: World,
  actor: DeviceActor,
  attributes: readonly Attribute[],
  granularity: string,
  aggregation: string,
): Promise<string[][]> {
  const text = await world.client.text({
    method: 'POST',
    path: '/telemetry/query_timeseries',
    accept: 'text/csv',
    body: {
      from: Math.floor(world.beganAtMs / 1_000) - 60,
      to: Math.floor(world.clock.wallMs() / 1_000) + 60,
      granularity,
      aggregation,
      telemetry: [{ device: actor.device.id, attribute: attributes.map(({ name }) => name) }],
    },
  });
  const [header, ...rows] = parseCsv(text);
  if (header?.length !== attributes.length + 1)
    throw new Error(`query_timeseries answered ${header?.length ?? 0} columns: ${header?.join(' | ')}`);
  const places = attributes.map(({ name }) =>
    header.findIndex((title) => title.startsWith(`telemetry=${name} `)),
  );
  return rows.map((row) => [row[0] ?? '', ...places.map((place) => row[place] ?? '')]);
}

/** A fixed end, so that pages do not shift while the device goes on. */
async function verifyLogs(
  world: World,
  actor: DeviceActor,
  required: readonly string[],
  untilMs: number,
): Promise<Problem[]> {
  const until = encodeURIComponent(new Date(untilMs).toISOString());
  const found: string[] = [];
  for (let offset = 0; ; offset += LOG_PAGE) {
    const answer = await world.client.json({
      path: `/devices/${actor.device.id}/logs?retention=PERSISTENT&limit=${LOG_PAGE}&offset=${offset}&received_at.lt=${until}`,
    });
    const logs = answer['logs'] as { message: string }[];
    found.push(...logs.map(({ message }) => message).filter((message) => message.startsWith('fault check')));
    if (logs.length < LOG_PAGE) break;
  }
  const item = (message: string): string => `log entry "${message}"`;
  return judgeList(item, actor.logs, required, found);
}

async function verifyExecutions(world: World, runStartedAtMs: number): Promise<Problem[]> {
  const required = world.executions.snapshot();
  const delivered = world.executions.deliveredIds();
  const until = encodeURIComponent(new Date(world.clock.wallMs() + 1).toISOString());
  const listed: ListedExecution[] = [];
  for (let offset = 0; ; offset += EXECUTION_PAGE) {
    const answer = await world.client.json({
      path: `/site/commands/executions?retention=ALL&expand=log&limit=${EXECUTION_PAGE}&offset=${offset}&created_at.lt=${until}`,
    });
    const executions = answer['executions'] as ListedExecution[];
    listed.push(...executions);
    if (executions.length < EXECUTION_PAGE) break;
  }
  const tagOf = (execution: ListedExecution): number =>
    Number(execution.request.arguments[world.tagArgument]);
  return [
    ...world.executions.judge(listed, required, tagOf, runStartedAtMs),
    ...world.executions.judgeRecords(delivered, listed),
  ];
}
