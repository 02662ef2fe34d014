/**
 * Every operation and stream of the whole gateway × every caller (docs/interface/http.md#roles). The
 * table below is the contract's; a new operation fails here until its least role is written down.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ISSUABLE_ROLES, type IssuableRole } from '../../src/capabilities/auth/index.ts';
import { type Route } from '../../src/platform/http/index.ts';
import { type Role, roleIncludes } from '../../src/lib/role.ts';
import { Refusal } from '../support/serve.ts';
import { type Caller, refusal, startTestGateway, type TestGateway } from '../support/test-gateway.ts';

/** Answer without a token although the box belongs to nobody. */
const BEFORE_CLAIM = [
  'get_health',
  'get_readiness',
  'get_claim',
  'claim',
  'get_authority_pem',
  'get_authority_crt',
  // Asks for no token at any time, and says nothing of the box.
  'validate_blueprint',
];

/**
 * Least role → operations and streams; `none` needs no token. For commands and configuration, the access
 * level in the manifest decides above that. Of tokens, a caller sees only its own.
 */
const LEAST: Readonly<Record<IssuableRole | 'none', readonly string[]>> = {
  none: [...BEFORE_CLAIM, ...words('login logout get_openapi get_asyncapi get_reference_page')],
  READONLY: words(`
    get_site get_energy get_energy_now get_energy_sources list_sites list_devices get_device get_device_manifest monitor_devices
    list_blueprints list_serial_ports list_io_ports list_device_profiles get_blueprint get_blueprint_by_name get_blueprint_zip download_device_profiles
    get_latest_telemetry get_device_latest_telemetry query_timeseries stream_device_telemetry
    get_command_execution list_command_executions list_site_command_executions
    execute_command create_command_execution
    get_device_configuration update_device_configuration reset_device_configuration
    get_me change_own_password list_tokens create_token revoke_token get_metrics
    get_rule_engine list_rules get_rule
    list_alerts stream_alerts
    run_terminal get_cloud_resource post_cloud_resource patch_cloud_resource delete_cloud_resource`),
  USER: words(
    'get_device_logs stream_device_logs get_rule_logs stream_rule_logs acknowledge_alert acknowledge_alerts',
  ),
  OWNER: words(`
    create_site update_site update_energy_sources delete_site archive_site unarchive_site
    update_device delete_device assign_blueprint generate_config
    provision_standalone_device provision_virtual_ucm provision_hardware_ucm provision_lua_device
    upload_blueprint upload_device_profiles remove_device_profile import_telemetry list_audit export_audit get_backup_plan get_problem_report get_update
    create_rule_engine suspend_rule_engine resume_rule_engine
    create_rule update_rule update_rule_script delete_rule disable_rule enable_rule
    batch_disable_rules batch_enable_rules batch_delete_rules dry_run_rule check_rule
    list_notification_channels create_notification_channel update_notification_channel delete_notification_channel
    test_notification_channel list_notification_deliveries
    list_targets create_target get_target update_target test_target delete_target`),
  INSTALLER: words(`
    list_users create_user update_user delete_user create_backup
    update_backup_plan run_backup_plan upload_backup restore_backup upload_update install_update discard_update
    add_serial_port test_serial_port remove_serial_port test_modbus_connection scan_modbus
    add_io_port test_io_port remove_io_port`),
};

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

const NOT_HERE = '00000000-0000-4000-8000-000000000000';
const UNKNOWN: Caller = { token: 'unknown' };

let gateway: TestGateway;
const ends: (() => unknown)[] = [];

before(async () => {
  gateway = await startTestGateway({ after: (end) => void ends.push(end as () => unknown) });
});
after(async () => {
  for (const end of ends) await end();
});

const routes = (): readonly Route[] => gateway.gateway.operations().routes;

function leastOf(operation: string): Role | null | undefined {
  const found = Object.entries(LEAST).find(([, operations]) => operations.includes(operation))?.[0];
  return found === 'none' ? null : (found as Role | undefined);
}

/** Every path of every operation, with ids of nothing, so that what is allowed changes nothing. */
async function walk(visit: (route: Route, path: string) => Promise<void>): Promise<void> {
  const { id } = (await gateway.ok('READONLY', 'GET', '/v3/site'))['site'] as { id: string };
  for (const route of routes())
    for (const path of route.paths)
      await visit(route, path.replace('{site_id}', id).replace(/\{\w+\}/g, NOT_HERE));
}

const ask = async (caller: Caller, { method }: Route, path: string): Promise<string> =>
  refusal(await gateway.call(caller, method, path));

describe('the table of roles', () => {
  test('names every operation and stream of the gateway, and no other', () => {
    const { routes: all, streams } = gateway.gateway.operations();
    const served = [...all, ...streams].map(({ operation }) => operation);
    assert.deepEqual(
      Object.values(LEAST).flat().toSorted(),
      [...new Set(served)].toSorted(),
      'write the least role of a new operation into the table',
    );
  });

  test('says what each of them declares', () => {
    const { routes: all, streams } = gateway.gateway.operations();
    for (const { operation, role } of [...all, ...streams]) assert.equal(role, leastOf(operation), operation);
  });
});

describe('an unclaimed gateway', () => {
  test('refuses every operation without a token, but what leads to its claim and what is wrong with a blueprint', async () => {
    await walk(async (route, path) => {
      const answer = await ask(null, route, path);
      if (BEFORE_CLAIM.includes(route.operation)) assert.doesNotMatch(answer, /^40[13]/, path);
      else assert.equal(answer, '401 invalid_header', path);
    });
  });
});

describe('a claimed gateway', () => {
  before(async () => {
    const claim_code = readFileSync(join(gateway.dataDir, 'claim-code'), 'utf8');
    await gateway.ok(null, 'POST', '/v3/auth/claim', { claim_code, password: 'correct horse' });
  });

  test('refuses every operation that needs a token to who has none', async () => {
    await walk(async (route, path) => {
      const answer = await ask(null, route, path);
      if (leastOf(route.operation) === null) assert.doesNotMatch(answer, /^40[13]/, path);
      else assert.equal(answer, '401 invalid_header', path);
    });
  });

  test('refuses every operation to who has a token that is not valid', async () => {
    await walk(async (route, path) => {
      // After some, the address is refused as guessing.
      assert.match(await ask(UNKNOWN, route, path), /^(403 access_denied|429 too_many_requests)$/, path);
    });
  });

  for (const role of ISSUABLE_ROLES)
    test(`refuses to ${role} exactly the operations above it`, async () => {
      await walk(async (route, path) => {
        const least = leastOf(route.operation) ?? 'READONLY';
        const answer = await ask(role, route, path);
        if (roleIncludes(role, least)) assert.doesNotMatch(answer, /^40[13]/, `${route.method} ${path}`);
        else assert.equal(answer, '403 insufficient_role', `${route.method} ${path}`);
      });
    });

  test('refuses every stream before its upgrade to who may not have it', async () => {
    const { id } = (await gateway.ok('READONLY', 'GET', '/v3/site'))['site'] as { id: string };
    const { streams } = gateway.gateway.operations();
    for (const [operation, template] of streams.flatMap(({ operation, paths }) =>
      paths.map((path) => [operation, path] as const),
    ))
      for (const [caller, allowed] of [
        [null, false],
        ...ISSUABLE_ROLES.map(
          (role) => [role, roleIncludes(role, leastOf(operation) ?? 'READONLY')] as const,
        ),
      ] as const) {
        const path = template.replace('{site_id}', id).replace(/\{\w+\}/g, NOT_HERE);
        const refused = await gateway.watch(caller, path).then(
          (watched) => watched.close(),
          (error: unknown) => {
            if (error instanceof Refusal)
              return refusal({ status: error.status, body: error.body, headers: new Headers() });
            throw error;
          },
        );
        const expected = caller === null ? '401 invalid_header' : '403 insufficient_role';
        if (allowed) assert.doesNotMatch(refused ?? '', /^40[13]/, `${caller} ${path}`);
        else assert.equal(refused, expected, `${caller} ${path}`);
      }
  });
});
