/** The first start of a box with a site file. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { until } from '../support/until.ts';
import { startTestGateway } from '../support/test-gateway.ts';
import { SECRETS, siteFile } from '../site-file/support.ts';

const FILE = `
site: {name: Plant 17, timezone: UTC}
users: [{name: anna, role: INSTALLER, password: {env: ANNA}}]
`;

const nameOf = ({ body }: { body: unknown }): string => (body as { site: { name: string } }).site.name;

describe('the first start', () => {
  test('the first start sets the box up as the file says: it has an owner and no claim code, and the audit trail names the file', async (t) => {
    const path = siteFile(t, FILE);
    const gateway = await startTestGateway(t, { environment: { GATEWAY_PROVISION_FILE: path, ...SECRETS } });
    assert.equal(gateway.ports.claim, undefined);
    const login = { name: 'anna', password: SECRETS.ANNA };
    assert.equal((await gateway.call(null, 'POST', '/v3/auth/login', login)).status, 200);
    const { entries } = (await gateway.ok('OWNER', 'GET', '/v3/audit')) as {
      entries: { operation: string; origin: { kind: string; name: string } }[];
    };
    assert.deepEqual(
      entries
        .filter(({ operation }) => operation !== 'login')
        .map(({ operation, origin }) => `${origin.kind} ${origin.name}: ${operation}`),
      ['token site file: create_user', 'token site file: update_site'],
    );
    const { access_tokens: tokens } = (await gateway.ok('INSTALLER', 'GET', '/v3/auth/tokens')) as {
      access_tokens: { name: string }[];
    };
    assert.ok(tokens.every(({ name }) => name !== 'site file'));
    assert.ok(!JSON.stringify(gateway.lines).includes(SECRETS.ANNA));
    await gateway.ok('OWNER', 'PATCH', '/v3/site', { name: 'Changed by hand' });
    await gateway.restart();
    assert.equal(nameOf(await gateway.call('OWNER', 'GET', '/v3/site')), 'Changed by hand');
  });

  test('the first start runs with an unusable file, says so, and the next start tries again', async (t) => {
    const path = siteFile(t, 'site: {name: Plant 17}');
    const gateway = await startTestGateway(t, { environment: { GATEWAY_PROVISION_FILE: path, ...SECRETS } });
    assert.equal(nameOf(await gateway.call('OWNER', 'GET', '/v3/site')), 'Depot');
    assert.notEqual(gateway.ports.claim, undefined);
    const said = gateway.lines.find(({ message }) => message.startsWith('the site file is not applied'));
    assert.match(String(said?.['reason']), /site\.timezone: is required/);
    const raised = async (): Promise<string> => {
      const { alerts } = await gateway.ok('OWNER', 'GET', '/v3/alerts?state=RAISED');
      const found = (alerts as { name: string }[]).filter(({ name }) => name === 'site_file_not_applied');
      return JSON.stringify(found);
    };
    await until(async () => (await raised()).includes('site.timezone: is required'));
    writeFileSync(path, FILE);
    await gateway.restart();
    assert.equal(nameOf(await gateway.call('OWNER', 'GET', '/v3/site')), 'Plant 17');
    assert.equal(gateway.ports.claim, undefined);
    await until(async () => (await raised()) === '[]');
  });

  test('the first start is the only one that reads the file', async (t) => {
    const gateway = await startTestGateway(t);
    const { dataDir } = gateway;
    await gateway.stop();
    const path = siteFile(t, FILE);
    const later = await startTestGateway(t, {
      dataDir,
      environment: { GATEWAY_PROVISION_FILE: path, ...SECRETS },
    });
    assert.equal(nameOf(await later.call('OWNER', 'GET', '/v3/site')), 'Depot');
  });
});
