/** Secrets of people, programs and devices are shown once, to whom they belong, and are found nowhere else. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
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
  const places = {
    'the log': JSON.stringify(gateway.lines),
    'an error': JSON.stringify(answers),
    'the audit trail': JSON.stringify(await ok('OWNER', 'GET', '/v3/audit')),
    'the export of the audit trail': String((await call('OWNER', 'GET', '/v3/audit/export')).body),
    'the metrics': String((await call('READONLY', 'GET', '/metrics')).body),
    'the lists of users and tokens': JSON.stringify([
      await ok(as, 'GET', '/v3/auth/users'),
      await ok(as, 'GET', '/v3/auth/tokens?kind=ALL'),
    ]),
    'a backup': await backupOf(gateway),
    'a file': filesOf(dataDir),
  };
  for (const [place, text] of Object.entries(places)) {
    assert.ok(text.length > 2, `${place} holds something`);
    for (const [name, secret] of Object.entries(secrets))
      assert.ok(!text.includes(secret), `${name} is in ${place}`);
  }
  assert.equal(existsSync(join(dataDir, 'claim-code')), false);
});

/** Byte by byte. */
async function backupOf({ request }: TestGateway): Promise<string> {
  const answer = await request('INSTALLER', 'POST', '/v3/backup', { password: 'one for the backup' });
  return Buffer.from(await answer.arrayBuffer()).toString('latin1');
}

/** Everything below the folder as one text, byte by byte. */
function filesOf(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n');
}
