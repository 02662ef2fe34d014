/** Secrets of people, programs and devices are shown once, to whom they belong, and are found nowhere else. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { prepareRestore } from '../../src/platform/backup/index.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

const PASSWORD = 'a sentence that nobody guesses';
const WRONG = 'another sentence that is wrong';

test('secrets are in no log line, error, audit entry, metric or file', async (t) => {
  const gateway = await startTestGateway(t);
  const { ok, call, dataDir } = gateway;
  const claim_code = readFileSync(join(dataDir, 'claim-code'), 'utf8').trim();
  const answers: unknown[] = [];
  const refused = async (method: string, path: string, body?: unknown, headers = {}): Promise<void> =>
    void answers.push((await call(null, method, path, body, headers)).body);

  await refused('POST', '/v3/auth/claim', { claim_code: `${claim_code}X`, password: WRONG });
  const claim = await ok(null, 'POST', '/v3/auth/claim', { claim_code, password: PASSWORD });
  const session = claim['token'] as string;
  await refused('POST', '/v3/auth/login', { name: 'installer', password: WRONG });
  await refused('POST', '/v3/auth/login', { name: 'installer', password: 7, hint: WRONG });
  const as = { token: session };
  const made = await ok(as, 'POST', '/v3/auth/tokens', { name: 'script', role: 'OWNER' });
  const device = await ok(as, 'POST', '/v3/provisioning/standalone', { name: 'Meter', protocol: 'MQTT' });
  const { mqtt_credentials: credentials } = device['config'] as { mqtt_credentials: { password: string } };
  await refused('GET', `/v3/site?token=${session}`);
  await refused('GET', '/v3/site', undefined, { Authorization: `Bearer ${session}x` });
  await ok(as, 'POST', '/v3/auth/password', { current_password: PASSWORD, password: `${PASSWORD}!` });
  await refused('POST', '/v3/auth/claim', { claim_code, password: PASSWORD });

  const secrets = {
    'the claim code': claim_code,
    'a password': PASSWORD,
    'a mistyped password': WRONG,
    'a session': session,
    'a token': made['token'] as string,
    'the password of a device': credentials.password,
  };
  await assertNowhere(gateway, secrets, {
    'an error': JSON.stringify(answers),
    'the lists of users and tokens': JSON.stringify([
      await ok(as, 'GET', '/v3/auth/users'),
      await ok(as, 'GET', '/v3/auth/tokens?kind=ALL'),
    ]),
    'a backup': await backupOf(gateway),
    'a file': filesOf(dataDir),
  });
  assert.equal(existsSync(join(dataDir, 'claim-code')), false);
});

test('secrets of devices go to their devices and nowhere else', async (t) => {
  const gateway = await startTestGateway(t);
  const { call, dataDir } = gateway;
  const device = await gateway.provision('Battery');
  await device.connect();
  device.obey({ done: true });
  const secrets = {
    'the code of a command': 'service code 4711',
    'a sensitive value of a configuration': 'password of the battery',
    'a mistyped password of a device': 'not the password of the device',
    'a password in the place of a name': 'a password that was typed as a name',
  };
  const [code, configured, mistyped, misplaced] = Object.values(secrets);
  const answers = [
    await call('OWNER', 'POST', '/v3/devices/battery/commands/execute?expand=log', {
      name: 'reset_energy_counters',
      arguments: { service_code: code },
    }),
    await call('OWNER', 'POST', '/v3/devices/battery/commands/execute', {
      name: 'reset_energy_counters',
      arguments: { service_code: [code] },
    }),
    await call('INSTALLER', 'PATCH', '/v3/devices/battery/configuration/connection', {
      set: { address: 'tcp://10.0.0.9:502', password: configured },
    }),
    await call('INSTALLER', 'GET', '/v3/devices/battery?expand=configuration'),
    await call('INSTALLER', 'GET', '/v3/devices/battery/configuration/connection'),
    await call('OWNER', 'GET', '/v3/site/commands/executions?retention=ALL&expand=log'),
    await call('OWNER', 'GET', '/v3/devices/battery/logs'),
  ];
  await assert.rejects(device.open({ password: mistyped ?? '' }));
  await assert.rejects(device.open({ username: misplaced ?? '', password: 'x' }));
  assert.equal(device.requests.length, 1);
  assert.deepEqual(device.requests[0]?.arguments, { service_code: code });
  await assertNowhere(gateway, secrets, { 'an answer': JSON.stringify(answers) });

  await gateway.stop();
  const files = filesOf(dataDir);
  await gateway.start();
  for (const secret of [code ?? '?', configured ?? '?']) assert.ok(!files.includes(secret), secret);
  const path = '/v3/devices/battery/configuration/connection?expand=hidden';
  assert.deepEqual((await gateway.ok('INSTALLER', 'GET', path))['hidden'], ['password']);
});

test('secrets of notification channels go to their servers and nowhere else', async (t) => {
  const gateway = await startTestGateway(t);
  const secrets = {
    'the password of a mail server': 'a password of a mail server',
    'the path of a webhook': 'path-that-nobody-else-knows',
    'the key of a signature': 'a key of a signature of mine',
    'the token of a topic': 'tk_that-nobody-else-knows',
    'a token in the path of a server': 'PathOfAServer4711AndMore0815',
  };
  const [password, path, signing_secret, token, place] = Object.values(secrets);
  // A server that is not there, so that errors are reported.
  const server = { host: '127.0.0.1', port: 1, encryption: 'NONE', username: 'gw' };
  const bodies = [
    { kind: 'EMAIL', email: { ...server, password, from: 'gw@example.org', to: ['anna@example.org'] } },
    { kind: 'WEBHOOK', webhook: { url: `http://127.0.0.1:1/${path}`, signing_secret } },
    { kind: 'NTFY', ntfy: { server: `http://127.0.0.1:1/${place}`, topic: 'depot', token } },
  ];
  const answers: unknown[] = [];
  const channels = '/v3/notification_channels';
  for (const body of bodies) {
    const made = await gateway.ok('OWNER', 'POST', channels, { name: body.kind, ...body });
    const { id } = made['notification_channel'] as { id: string };
    answers.push(made, await gateway.ok('OWNER', 'POST', `${channels}/${id}/test`));
    answers.push(await gateway.call('OWNER', 'PATCH', `${channels}/${id}`, { ntfy: { token: [token] } }));
  }
  answers.push(await gateway.ok('INSTALLER', 'GET', channels));
  answers.push(await gateway.ok('INSTALLER', 'GET', '/v3/notification_deliveries'));
  await assertNowhere(gateway, secrets, {
    'an answer': JSON.stringify(answers),
    'a backup': await backupOf(gateway),
    'a file': filesOf(gateway.dataDir),
  });
});

test('secrets of targets go to their servers and nowhere else', async (t) => {
  const gateway = await startTestGateway(t);
  const secrets = {
    'the token of an engine': 'a token of an engine',
    'the password of a broker': 'a password of a broker',
    'the key of a client': 'a key of a client of a broker',
    'a token that is refused': 'a token in a list',
    'a token in an address': 'key-in-an-address-0815',
    'a token in a path': 'PathOfAnEngine4711AndMore0815',
  };
  const [secret, password, private_key_pem, refused, key, path] = Object.values(secrets);
  // Servers that are not there, so that errors are reported.
  const bodies = [
    { name: 'engine', kind: 'INFLUXDB', influxdb: { url: 'http://127.0.0.1:1/write', secret } },
    { name: 'broker', kind: 'MQTT', mqtt: { url: 'mqtt://127.0.0.1:1', secret: password, private_key_pem } },
    { name: 'keyed', kind: 'INFLUXDB', influxdb: { url: `http://127.0.0.1:1/write?db=a&apikey=${key}` } },
    { name: 'random', kind: 'INFLUXDB', influxdb: { url: `http://127.0.0.1:1/${path}/write` } },
  ];
  const answers: unknown[] = [];
  for (const body of bodies) {
    const made = await gateway.ok('OWNER', 'POST', '/v3/targets', body);
    const path = `/v3/targets/${(made['target'] as { id: string }).id}`;
    answers.push(made, await gateway.ok('OWNER', 'POST', `${path}/test`));
    answers.push(await gateway.call('OWNER', 'PATCH', path, { influxdb: { secret: [refused] } }));
  }
  answers.push(await gateway.ok('INSTALLER', 'GET', '/v3/targets'));
  await assertNowhere(gateway, secrets, {
    'an answer': JSON.stringify(answers),
    'the report of a problem': JSON.stringify(await gateway.ok('OWNER', 'GET', '/v3/problem_report')),
    'a backup': await backupOf(gateway),
    'a file': filesOf(gateway.dataDir),
  });
});

test('passwords of backups are sealed in the data folder, also those of an earlier version', async (t) => {
  const gateway = await startTestGateway(t);
  const secrets = { 'a password of backups': 'words for all backups', 'a login': 'words for a share' };
  const [password, target_password] = Object.values(secrets);
  const target = { target: 'https://nas.example/gateway/', target_username: 'gw', target_password };
  await gateway.ok('INSTALLER', 'PATCH', '/v3/backup/plan', { ...target, password });
  const state = join(gateway.dataDir, 'state.db');
  await gateway.stop();
  assert.ok(!filesOf(gateway.dataDir).includes(password ?? ''));
  inState(state, (database) =>
    database.exec(`UPDATE backup_plan SET password = '${password}', target_password = '${target_password}'`),
  );
  assert.ok(filesOf(gateway.dataDir).includes(password ?? ''));
  await gateway.start();
  await gateway.stop();
  const stored = inState(state, (database) => database.prepare('SELECT * FROM backup_plan').get()) as {
    password: string;
    target_password: string;
  };
  for (const text of [stored.password, stored.target_password]) assert.match(text, /^sealed:/);
  await gateway.start();
  const { backup_plan: plan } = (await gateway.ok('INSTALLER', 'GET', '/v3/backup/plan')) as {
    backup_plan: Record<string, unknown>;
  };
  assert.deepEqual([plan['has_password'], plan['has_target_password']], [true, true]);
});

test('secrets travel in a backup to another box, and are absent there without its key', async (t) => {
  const gateway = await startTestGateway(t);
  const { ok, dataDir } = gateway;
  const body = { kind: 'NTFY', ntfy: { server: 'http://127.0.0.1:1', topic: 'depot', token: 'tk_travels' } };
  await ok('OWNER', 'POST', '/v3/notification_channels', { name: 'phone', ...body });
  const answer = await gateway.request('INSTALLER', 'POST', '/v3/backup', { password: 'one for the backup' });
  const backup = Buffer.from(await answer.arrayBuffer());
  const tokenOf = async ({ call }: TestGateway): Promise<unknown> =>
    (
      (await call('OWNER', 'GET', '/v3/notification_channels')).body as {
        notification_channels: { ntfy: { has_token: boolean } }[];
      }
    ).notification_channels[0]?.ntfy.has_token;

  const other = await startTestGateway(t);
  await other.ok('INSTALLER', 'PATCH', '/v3/backup/plan', { password: 'words of the other box' });
  await other.stop();
  const file = join(other.dataDir, '..', 'travelled.backup');
  writeFileSync(file, backup);
  const opened = await open(file);
  await prepareRestore({
    file: opened,
    password: 'one for the backup',
    dataDir: other.dataDir,
    clock: createSystemClock(),
  });
  await opened.close();
  await other.start();
  assert.equal(await tokenOf(other), true);
  assert.ok(!existsSync(join(other.dataDir, 'secrets.key')));

  await gateway.stop();
  rmSync(`${dataDir}.key`);
  await gateway.start();
  assert.equal(await tokenOf(gateway), false);
  assert.ok(
    gateway.lines.some(({ message }) => message === 'a stored secret cannot be opened; enter it again'),
  );
});

test('the private key of a device is shown to its maker and not kept', async (t) => {
  const environment = { GATEWAY_HTTPS: 'true', GATEWAY_MQTTS: 'true' };
  const gateway = await startTestGateway(t, { environment });
  const made = await gateway.ok('OWNER', 'POST', '/v3/provisioning/standalone', { name: 'Secured' });
  const { mqtt_credentials: credentials } = made['config'] as { mqtt_credentials: { private_key: string } };
  const line = credentials.private_key.split('\n')[1] ?? '';
  assert.ok(line.length > 40);
  await assertNowhere(gateway, { 'the private key': line }, { 'a file': filesOf(gateway.dataDir) });
});

/** Looks where everything comes together, and into `more`. */
async function assertNowhere(
  { lines, ok, call }: TestGateway,
  secrets: Record<string, string>,
  more: Record<string, string>,
): Promise<void> {
  const places = {
    'the log': JSON.stringify(lines),
    'the audit trail': JSON.stringify(await ok('OWNER', 'GET', '/v3/audit')),
    'the export of the audit trail': String((await call('OWNER', 'GET', '/v3/audit/export')).body),
    'the metrics': String((await call('READONLY', 'GET', '/metrics')).body),
    ...more,
  };
  for (const [place, text] of Object.entries(places)) {
    assert.ok(text.length > 2, `${place} holds something`);
    for (const [name, secret] of Object.entries(secrets))
      assert.ok(!text.includes(secret), `${name} is in ${place}`);
  }
}

/** Byte by byte. */
async function backupOf({ request }: TestGateway): Promise<string> {
  const answer = await request('INSTALLER', 'POST', '/v3/backup', { password: 'one for the backup' });
  return Buffer.from(await answer.arrayBuffer()).toString('latin1');
}

function inState<Result>(path: string, work: (database: BetterSqlite3.Database) => Result): Result {
  const database = new BetterSqlite3(path);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** Everything below the folder as one text, byte by byte. */
function filesOf(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .map(textOf)
    .join('\n');
}

/** Empty for a folder, and for a file that was renamed meanwhile. */
function textOf(path: string): string {
  try {
    return statSync(path).isFile() ? readFileSync(path, 'latin1') : '';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return '';
  }
}
