import type { Limits } from '../../lib/limits.ts';
import { type Clock, within } from '../../platform/clock/index.ts';
import { type Call, JSON_HEADERS, route, type Route } from '../../platform/http/index.ts';
import { parseWritableJson } from '../../lib/json.ts';
import { type Device, devicePaths, type Devices } from '../devices/index.ts';
import { sitePaths } from '../site/index.ts';
import type { Execution } from './model.ts';
import * as wire from './schema.ts';
import type { Commands, Running } from './service.ts';

interface RouteOptions {
  commands: Commands;
  devices: Devices;
  clock: Clock;
  limits: Limits['commands'];
}

/** Operations on commands (docs/interface/http.md#commands). */
export function commandRoutes(options: RouteOptions): Route[] {
  return [...sendingRoutes(options), ...readingRoutes(options)];
}

function deviceOf(devices: Devices, call: Call): Device {
  return devices.require(call.param('device_id'));
}

const REFUSALS = [
  '403 insufficient_role',
  '409 in_rehearsal',
  '413 payload_too_large',
  '422 command_not_found',
  '422 invalid_command_arguments',
  '422 device_offline',
  '429 too_many_requests',
] as const;

function sendingRoutes(options: RouteOptions): Route[] {
  const { commands, devices } = options;
  return [
    route({
      operation: 'execute_command',
      about:
        'Sends the command and waits for its end. While it waits, blanks are sent before the JSON. ' +
        'The access level of the command determines the role.',
      answer: wire.executionShapes.one,
      POST: [...devicePaths('/commands/execute'), ...devicePaths('/execute_command')],
      // The command's access level decides.
      role: 'READONLY',
      query: wire.expandQuery,
      body: wire.requestBody,
      readJson: parseWritableJson,
      errors: REFUSALS,
      handle: async (call) => {
        call.note({ command: call.body.name });
        const running = await commands.execute(deviceOf(devices, call), call.body, call.principal);
        call.note({ execution_id: running.id });
        return answerWhenEnded(options, running, call, (execution) => ({
          execution: expanded(commands, execution, call.query.expand),
        }));
      },
    }),
    route({
      operation: 'create_command_execution',
      about: 'Sends the command and answers at once. The access level of the command determines the role.',
      answer: wire.executionShapes.id,
      POST: [...devicePaths('/commands/executions'), ...devicePaths('/command_executions')],
      role: 'READONLY',
      body: wire.requestBody,
      readJson: parseWritableJson,
      errors: REFUSALS,
      handle: async (call) => {
        call.note({ command: call.body.name });
        const { id } = await commands.execute(deviceOf(devices, call), call.body, call.principal);
        call.note({ execution_id: id });
        return { execution_id: id };
      },
    }),
  ];
}

function readingRoutes({ commands, devices }: RouteOptions): Route[] {
  return [
    route({
      operation: 'get_command_execution',
      about: 'One execution of a device, ephemeral ones too.',
      answer: wire.executionShapes.one,
      GET: [
        ...devicePaths('/commands/executions/{execution_id}'),
        ...devicePaths('/command_executions/{execution_id}'),
      ],
      role: 'READONLY',
      query: wire.expandQuery,
      errors: ['403 insufficient_role', '404 execution_not_found'],
      handle: (call) => {
        const device = deviceOf(devices, call);
        const execution = commands.get(device, call.param('execution_id'), call.principal.role);
        return { execution: expanded(commands, execution, call.query.expand) };
      },
    }),
    route({
      operation: 'list_command_executions',
      about: 'Executions of a device by time of creation.',
      answer: wire.executionShapes.list,
      GET: [...devicePaths('/commands/executions'), ...devicePaths('/command_executions')],
      role: 'READONLY',
      query: wire.listQuery,
      handle: (call) => answerList(commands, call, [deviceOf(devices, call).id]),
    }),
    route({
      operation: 'list_site_command_executions',
      about: 'Executions of all devices, or of those that pass the filters, by time of creation.',
      answer: wire.executionShapes.list,
      GET: [...sitePaths('/commands/executions'), ...sitePaths('/command_executions')],
      role: 'READONLY',
      query: wire.siteListQuery,
      errors: ['404 device_not_found', '404 profile_not_found'],
      handle: (call) => answerList(commands, call, wire.deviceIdsOf(call.query, devices)),
    }),
  ];
}

const expanded = (commands: Commands, execution: Execution, expand: readonly string[]) =>
  wire.toWire(execution, expand.includes('log') ? commands.log(execution.id) : undefined);

/** Blanks before JSON are JSON, so a client that gives up on silence keeps waiting (RFC 8259 section 2). */
const BLANK = ' ';

/**
 * The answer of the waiting call: at once when the end comes within the first interval, else headers and a
 * blank every interval until the JSON follows. When the gateway stops, the execution has ended by then: a refusal would
 * invite the caller to send the command again.
 */
async function answerWhenEnded(
  { clock, limits }: RouteOptions,
  running: Running,
  call: Pick<Call, 'signal' | 'streamed'>,
  toBody: (execution: Execution) => unknown,
): Promise<Response> {
  const { signal } = call;
  const left = new Promise<Execution>((resolve) => {
    const leave = (): void => resolve(running.current());
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  });
  const ended = Promise.race([running.ended, left]);
  const early = await within(clock, limits.keepAliveFirstMs, ended);
  // Never compressed: the contract exempts this call, early or late.
  if (early) return new Response(JSON.stringify(toBody(early)), { headers: JSON_HEADERS });

  async function* blanksThenJson(): AsyncGenerator<string> {
    let execution: Execution | undefined;
    do {
      yield BLANK;
      execution = await within(clock, limits.keepAliveIntervalMs, ended);
    } while (!execution);
    yield JSON.stringify(toBody(execution));
  }
  return call.streamed(blanksThenJson(), JSON_HEADERS);
}

/**
 * A page is written execution by execution, because a thousand of them with their logs would not fit into
 * memory. One that was deleted since the page was taken is left out.
 */
function answerList(
  commands: Commands,
  call: Pick<Call, 'principal' | 'streamed'> & { query: wire.ListInput },
  deviceIds: readonly string[] | undefined,
): Response {
  const { query, principal } = call;
  const { ids, totalCount } = commands.list(wire.listQueryOf(query, deviceIds), principal.role);
  function* page(): Generator<string> {
    let text = '{"executions":[';
    let separator = '';
    for (const id of ids) {
      const execution = commands.find(id);
      if (!execution) continue;
      text += separator + JSON.stringify(expanded(commands, execution, query.expand));
      separator = ',';
      if (text.length < CHUNK_LENGTH) continue;
      yield text;
      text = '';
    }
    yield `${text}],"total_count":${totalCount}}`;
  }
  return call.streamed(page(), JSON_HEADERS);
}

const CHUNK_LENGTH = 16_384;
