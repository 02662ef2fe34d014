/** Calls to device commands that are refused (docs/interface/http.md#commands): whole bodies, and no trace left. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import type { Role } from '../../src/lib/role.ts';
import { refusal, startCommands as start } from './support.ts';

const ALL = { retention: 'ALL', descending: false, limit: 1_000, offset: 0 } as const;

describe('a call that is refused', () => {
  type Row = [
    title: string,
    role: Role | 'unknown' | null,
    method: string,
    path: string,
    body: unknown,
    status: number,
    answer: object,
  ];
  const execute = '/v3/devices/battery/commands/execute';
  const executions = '/v3/devices/battery/commands/executions';
  const invalidField = (field: string, message: string) => refusal('invalid_body', message, { field });
  const invalidQuery = (parameter: string, message: string) =>
    refusal('invalid_query', `Query parameter "${parameter}" ${message}.`, { parameter });
  const noToken = refusal('invalid_header', 'An access token is needed.', { header: 'X-Service-Auth-Token' });
  const noDevice = refusal('device_not_found', 'There is no such device.');
  const rows: Row[] = [
    ['execute without a token', null, 'POST', execute, { name: 'ping' }, 401, noToken],
    ['list without a token', null, 'GET', executions, undefined, 401, noToken],
    [
      'execute with a token that nobody issued',
      'unknown',
      'POST',
      execute,
      { name: 'ping' },
      403,
      refusal('access_denied', 'The access token is not valid.'),
    ],
    [
      "execute below the command's access level",
      'OWNER',
      'POST',
      execute,
      { name: 'erase' },
      403,
      refusal('insufficient_role', 'This needs the role INSTALLER or higher.', {
        required: 'INSTALLER',
        actual: 'OWNER',
      }),
    ],
    [
      'create below the default access level',
      'READONLY',
      'POST',
      executions,
      { name: 'ping' },
      403,
      refusal('insufficient_role', 'This needs the role USER or higher.', {
        required: 'USER',
        actual: 'READONLY',
      }),
    ],
    [
      'execute on an unknown device',
      'OWNER',
      'POST',
      '/v3/devices/nobody/commands/execute',
      { name: 'ping' },
      404,
      noDevice,
    ],
    [
      'list of an unknown site',
      'OWNER',
      'GET',
      '/v3/sites/11111111-1111-4111-8111-111111111111/commands/executions',
      undefined,
      404,
      refusal('site_not_found', 'There is no such site.'),
    ],
    [
      'get of an execution that never was',
      'OWNER',
      'GET',
      `${executions}/11111111-1111-4111-8111-111111111111`,
      undefined,
      404,
      refusal('execution_not_found', 'The device has no execution of this id.'),
    ],
    [
      'execute without a name',
      'OWNER',
      'POST',
      execute,
      {},
      400,
      invalidField('name', 'Field "name" is required.'),
    ],
    [
      'execute with arguments that are no object',
      'OWNER',
      'POST',
      execute,
      { name: 'ping', arguments: [1] },
      400,
      invalidField('arguments', 'Field "arguments" must be an object.'),
    ],
    [
      'create with an ephemeral that is no boolean',
      'OWNER',
      'POST',
      executions,
      { name: 'ping', ephemeral: 'yes' },
      400,
      invalidField('ephemeral', 'Field "ephemeral" must be true or false, got "yes".'),
    ],
    [
      'execute with an unknown expand',
      'OWNER',
      'POST',
      `${execute}?expand=device`,
      { name: 'ping' },
      400,
      invalidQuery('expand', 'has unknown "device", must be of: log'),
    ],
    [
      'list with an unknown state',
      'OWNER',
      'GET',
      `${executions}?state.in=DONE`,
      undefined,
      400,
      invalidQuery(
        'state.in',
        'has unknown "DONE", must be of: NEW, IN_PROGRESS, SUCCESS, ERROR, TIMEOUT, UNSYNC',
      ),
    ],
    [
      'list with a negative limit',
      'OWNER',
      'GET',
      `${executions}?limit=-1`,
      undefined,
      400,
      invalidQuery('limit', 'must be a whole number, 0 or more'),
    ],
    [
      'list with a time that is none',
      'OWNER',
      'GET',
      `${executions}?created_at.gte=yesterday`,
      undefined,
      400,
      invalidQuery('created_at.gte', 'must be an RFC 3339 timestamp such as 2026-03-01T08:00:00Z'),
    ],
    [
      'list with an unknown retention',
      'OWNER',
      'GET',
      `${executions}?retention=SOME`,
      undefined,
      400,
      invalidQuery('retention', 'must be one of: PERSISTENT, EPHEMERAL, ALL'),
    ],
    [
      'execute of a command that the blueprint lacks',
      'OWNER',
      'POST',
      execute,
      { name: 'sett_limit' },
      422,
      refusal('command_not_found', 'The device\'s blueprint has no command "sett_limit".', {
        name: 'sett_limit',
      }),
    ],
    [
      'execute without a required argument',
      'OWNER',
      'POST',
      execute,
      { name: 'set_limit', arguments: null },
      422,
      refusal('invalid_command_arguments', 'Argument "value" is required.', { argument: 'value' }),
    ],
  ];
  for (const [title, role, method, path, body, status, expected] of rows)
    test(`a command is refused with ${status}: ${title}`, async (t) => {
      const { ask, bench } = await start(t);
      const answer = await ask(role, method, path, body);
      assert.deepEqual({ status: answer.status, body: answer.body }, { status, body: expected });
      assert.equal(answer.headers.get('content-type'), 'application/json');
      assert.deepEqual(bench.sent, []);
      assert.equal(bench.commands.list({ ...ALL }, 'SYSTEM').totalCount, 0);
    });

  test('a command is refused with 422 when the device cannot be reached; nothing is recorded', async (t) => {
    const { ask, bench, device } = await start(t);
    bench.setListening(device, 0);
    for (const path of [execute, executions]) {
      const { status, body } = await ask('OWNER', 'POST', path, { name: 'ping' });
      assert.equal(status, 422);
      assert.deepEqual(body, refusal('device_offline', 'The device "Device 1" is offline.'));
    }
    const list = await ask('OWNER', 'GET', `${executions}?retention=ALL`);
    assert.deepEqual(list.body, { executions: [], total_count: 0 });
  });

  test('a command is refused with 429 and Retry-After when too many are in progress', async (t) => {
    const { ask, bench, device } = await start(t);
    for (let i = 0; i < LIMITS.commands.inFlightPerDevice; i++) await bench.run(device, 'ping');
    const { status, body, headers } = await ask('OWNER', 'POST', executions, { name: 'ping' });
    assert.equal(status, 429);
    assert.equal(headers.get('retry-after'), '1');
    assert.deepEqual(
      body,
      refusal('too_many_requests', 'The device has 64 commands in progress; wait for one to end.'),
    );
  });

  test("an execution is refused with 403 when its command's read_access_level is above the role; lists leave it out", async (t) => {
    const { ask, bench, device } = await start(t);
    const { id } = await bench.run(device, 'erase', { role: 'INSTALLER' });
    const { status, body } = await ask('OWNER', 'GET', `${executions}/${id}`);
    assert.equal(status, 403);
    assert.deepEqual(
      body,
      refusal('insufficient_role', 'This needs the role INSTALLER or higher.', {
        required: 'INSTALLER',
        actual: 'OWNER',
      }),
    );
    const { body: list } = await ask('OWNER', 'GET', executions);
    assert.deepEqual(list, { executions: [], total_count: 0 });
  });
});
