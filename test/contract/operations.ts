/**
 * The tables of the contract as data, written from its pages and not from the code: operations with their
 * paths and least role (docs/interface/http.md#roles and docs/interface/http.md#other-names), and aliases that are no
 * paths.
 */
import type { Method } from '../../src/platform/http/index.ts';
import type { Role } from '../../src/lib/role.ts';

export interface OperationRow {
  operation: string;
  method: Method | 'WS';
  /** The canonical one first. Each is also served under `/api` and with one trailing slash. */
  paths: readonly string[];
  /** Least role; null: needs no token. */
  role: Role | null;
  chapter: string;
}

const site = (suffix = ''): string[] => [`/v3/sites/{site_id}${suffix}`, `/v3/site${suffix}`];

const device = (...suffixes: string[]): string[] =>
  suffixes.flatMap((suffix) => [
    `/v3/devices/{device_id}${suffix}`,
    ...site(`/devices/{device_id}${suffix}`),
  ]);

const engine = (suffix = ''): string[] => site(`/rule_engine${suffix}`);

const row = (
  chapter: string,
  operation: string,
  method: OperationRow['method'],
  role: Role | null,
  paths: string | readonly string[],
): OperationRow => ({ operation, method, role, chapter, paths: typeof paths === 'string' ? [paths] : paths });

const execution = '/{execution_id}';

export const OPERATIONS: readonly OperationRow[] = [
  row('9.1', 'create_site', 'POST', 'OWNER', '/v3/sites'),
  row('9.1', 'get_site', 'GET', 'READONLY', site()),
  row('9.1', 'update_site', 'PATCH', 'OWNER', site()),
  row('9.1', 'list_sites', 'GET', 'READONLY', [
    '/v3/sites',
    '/v3/users/me/sites',
    '/v3/sites/users/me/sites',
  ]),
  row('9.1', 'delete_site', 'DELETE', 'OWNER', [...site(), '/v3/sites']),
  row('9.1', 'archive_site', 'POST', 'OWNER', site('/archive')),
  row('9.1', 'unarchive_site', 'POST', 'OWNER', site('/unarchive')),

  row('9.2', 'get_device', 'GET', 'READONLY', device('')),
  row('9.2', 'list_devices', 'GET', 'READONLY', ['/v3/devices', ...site('/devices')]),
  row('9.2', 'get_device_manifest', 'GET', 'READONLY', device('/manifest')),
  row('9.2', 'update_device', 'PATCH', 'OWNER', device('')),
  row('9.2', 'delete_device', 'DELETE', 'OWNER', device('')),
  row('9.2', 'assign_blueprint', 'POST', 'OWNER', device('/assign_blueprint')),
  row('9.2', 'generate_config', 'POST', 'OWNER', device('/generate_config')),
  row('9.2', 'run_terminal', 'POST', 'READONLY', device('/run_terminal')),

  row('9.3', 'provision_lua_device', 'POST', 'OWNER', '/v3/provisioning/lua_device'),
  row('9.3', 'provision_standalone_device', 'POST', 'OWNER', '/v3/provisioning/standalone'),
  row('9.3', 'provision_virtual_ucm', 'POST', 'OWNER', '/v3/provisioning/vucm'),
  row('9.3', 'provision_hardware_ucm', 'POST', 'OWNER', '/v3/provisioning/ucm'),

  row('9.4', 'validate_blueprint', 'POST', null, '/v3/blueprints/validate'),
  row('9.4', 'upload_blueprint', 'POST', 'OWNER', '/v3/blueprints/upload'),
  row('9.4', 'get_blueprint', 'GET', 'READONLY', '/v3/blueprints/{blueprint_id}'),
  row('9.4', 'get_blueprint_by_name', 'GET', 'READONLY', '/v3/blueprints/{namespace}/{blueprint_name}/{tag}'),
  row('9.4', 'get_blueprint_zip', 'GET', 'READONLY', '/v3/blueprints/{blueprint_id}/zip'),
  row('9.4', 'download_device_profiles', 'GET', 'READONLY', [
    '/v3/blueprints/device_profiles/download',
    '/v3/blueprints/download_device_profiles',
  ]),
  row('9.4', 'upload_device_profiles', 'POST', 'OWNER', [
    '/v3/blueprints/device_profiles/upload',
    '/v3/blueprints/upload_device_profiles',
  ]),

  // The access level of the group or command decides above READONLY.
  row('9.5', 'get_device_configuration', 'GET', 'READONLY', device('/configuration/{group_name}')),
  row('9.5', 'update_device_configuration', 'PATCH', 'READONLY', device('/configuration/{group_name}')),
  row(
    '9.5',
    'reset_device_configuration',
    'POST',
    'READONLY',
    device('/configuration/{group_name}/reset_all'),
  ),

  row('9.6', 'execute_command', 'POST', 'READONLY', device('/commands/execute', '/execute_command')),
  row(
    '9.6',
    'create_command_execution',
    'POST',
    'READONLY',
    device('/commands/executions', '/command_executions'),
  ),
  row(
    '9.6',
    'get_command_execution',
    'GET',
    'READONLY',
    device(`/commands/executions${execution}`, `/command_executions${execution}`),
  ),
  row(
    '9.6',
    'list_command_executions',
    'GET',
    'READONLY',
    device('/commands/executions', '/command_executions'),
  ),
  row('9.6', 'list_site_command_executions', 'GET', 'READONLY', [
    ...site('/commands/executions'),
    ...site('/command_executions'),
  ]),

  row('9.7', 'get_rule_engine', 'GET', 'READONLY', engine()),
  row('9.7', 'suspend_rule_engine', 'POST', 'OWNER', engine('/suspend')),
  row('9.7', 'resume_rule_engine', 'POST', 'OWNER', engine('/resume')),
  row('9.7', 'create_rule_engine', 'POST', 'OWNER', engine()),
  row('9.7', 'create_rule', 'POST', 'OWNER', engine('/rules')),
  row('9.7', 'list_rules', 'GET', 'READONLY', engine('/rules')),
  row('9.7', 'get_rule', 'GET', 'READONLY', engine('/rules/{rule_id}')),
  row('9.7', 'update_rule', 'PATCH', 'OWNER', engine('/rules/{rule_id}')),
  row('9.7', 'update_rule_script', 'POST', 'OWNER', engine('/rules/{rule_id}/update_script')),
  row('9.7', 'disable_rule', 'POST', 'OWNER', engine('/rules/{rule_id}/disable')),
  row('9.7', 'enable_rule', 'POST', 'OWNER', engine('/rules/{rule_id}/enable')),
  row('9.7', 'batch_disable_rules', 'POST', 'OWNER', engine('/rules/batch_disable')),
  row('9.7', 'batch_enable_rules', 'POST', 'OWNER', engine('/rules/batch_enable')),
  row('9.7', 'delete_rule', 'DELETE', 'OWNER', engine('/rules/{rule_id}')),
  row('9.7', 'batch_delete_rules', 'POST', 'OWNER', engine('/rules/batch_delete')),
  row('9.7', 'dry_run_rule', 'POST', 'OWNER', engine('/rules/dry_run')),
  row('9.7', 'check_rule', 'POST', 'OWNER', engine('/rules/check')),
  row('9.7', 'get_rule_logs', 'GET', 'USER', engine('/rules/{rule_id}/logs')),

  row('9.8', 'get_device_logs', 'GET', 'USER', device('/logs')),

  row('10.1', 'get_latest_telemetry', 'GET', 'READONLY', '/v3/telemetry/latest'),
  row('10.1', 'get_device_latest_telemetry', 'GET', 'READONLY', device('/telemetry')),
  row('10.2', 'query_timeseries', 'POST', 'READONLY', '/v3/telemetry/query_timeseries'),

  row('11', 'stream_device_logs', 'WS', 'USER', device('/logs', '/logs/ws')),
  row('11', 'stream_device_telemetry', 'WS', 'READONLY', device('/telemetry')),
  row('11', 'monitor_devices', 'WS', 'READONLY', ['/v3/devices', ...site('/devices')]),
  row('11', 'stream_rule_logs', 'WS', 'USER', [
    ...engine('/rules/{rule_id}/logs'),
    ...engine('/rules/{rule_id}/logs/ws'),
  ]),
];

/**
 * Operations of ours that no table of the contract has, by their least role; `none` needs no token. The last four are refused
 * by name, whatever the method (docs/interface/http.md#cloud-operations).
 */
const EXTENSIONS: Readonly<Record<'none' | 'READONLY' | 'USER' | 'OWNER' | 'INSTALLER', string>> = {
  none: `
    get_health get_readiness get_claim claim login logout get_openapi get_asyncapi
    get_authority_pem get_authority_crt get_template_schema`,
  READONLY: `
    list_device_documents get_device_document get_device_document_content
    get_connection get_rehearsal get_metrics get_energy get_energy_now get_energy_forecast get_energy_sources get_energy_tariffs get_site_attention list_alerts get_alert get_token
    get_serial_port get_io_port get_device_profile stream_alerts get_me
    list_library_devices get_library_device get_library_template list_library_strategies
    get_library_strategy list_outputs get_output list_output_changes
    change_own_password list_tokens revoke_token list_blueprints list_serial_ports
    list_io_ports list_device_profiles get_cloud_resource post_cloud_resource patch_cloud_resource
    delete_cloud_resource`,
  USER: `
    list_rule_runs list_rule_versions get_rule_version acknowledge_alert acknowledge_alerts snooze_alert create_token`,
  OWNER: `
    upload_device_document delete_device_document
    get_problem_report end_rehearsal get_backup_plan get_update import_telemetry update_energy_sources update_energy_tariffs
    get_notification_channel get_notification_delivery get_audit_entry
    list_notification_channels create_notification_channel update_notification_channel
    delete_notification_channel test_notification_channel list_notification_deliveries list_audit
    list_targets create_target get_target update_target test_target delete_target remove_device_profile remove_blueprint
    export_audit list_mqtt_guests create_mqtt_guest get_mqtt_guest update_mqtt_guest
    generate_mqtt_guest_password delete_mqtt_guest list_announced_devices get_announced_device
    accept_announced_device ignore_announced_device
    make_library_blueprint list_library_updates show_strategy_script create_strategy_rule
    update_rule_parameters restore_rule_version run_rule`,
  INSTALLER: `
    create_backup update_backup_plan run_backup_plan upload_backup restore_backup upload_update
    install_update discard_update list_users get_user create_user update_user delete_user add_serial_port
    test_serial_port remove_serial_port test_modbus_connection read_modbus_registers scan_modbus add_io_port test_io_port
    remove_io_port upload_library_device delete_library_device search_devices read_http_json
    start_device_trace get_device_trace stop_device_trace get_device_trace_image`,
};

/** Least role of every operation and stream by its name; null: needs no token. */
export const LEAST_ROLES: ReadonlyMap<string, Role | null> = new Map([
  ...OPERATIONS.map(({ operation, role }) => [operation, role] as const),
  ...Object.entries(EXTENSIONS).flatMap(([role, names]) =>
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, role === 'none' ? null : (role as Role)] as const),
  ),
]);

/** Callers of every operation on every path. */
export const CALLERS = ['nobody', 'READONLY', 'USER', 'OWNER', 'INSTALLER'] as const;

/** Lines of the client matrix by client, each numbered from 1; SA-8 is a matter of the network. */
export const CLIENT_LINES: Readonly<Record<string, number>> = {
  PY: 34,
  GO: 28,
  GN: 7,
  GD: 5,
  GP: 4,
  MC: 9,
  VS: 13,
  SA: 7,
};

/** One request as the tests sent it. */
export interface TracedRequest {
  method: string;
  /** With its query. */
  path: string;
  /** By lower-case name. */
  headers: Readonly<Record<string, string>>;
  body: string | undefined;
  status: number;
  /** Whose token it carried: a role, or `nobody`; undefined: not known. */
  caller?: string | undefined;
}

export interface AliasRow {
  /** As the table of the contract has it. */
  alias: string;
  chapter: '14' | '15';
  isUsedBy: (request: TracedRequest) => boolean;
}

const inQuery =
  (pattern: RegExp) =>
  ({ path }: TracedRequest): boolean =>
    pattern.test(decodeURIComponent(path.split('?')[1] ?? ''));

const inBody =
  (operationPath: RegExp, ...patterns: RegExp[]) =>
  ({ path, body }: TracedRequest): boolean =>
    operationPath.test(path.split('?')[0] ?? '') &&
    patterns.every((pattern) => pattern.test((body ?? '').replaceAll(/\s/g, '')));

const ok =
  (isUsedBy: AliasRow['isUsedBy']): AliasRow['isUsedBy'] =>
  (request) =>
    request.status === 200 && isUsedBy(request);

const alias = (name: string, isUsedBy: AliasRow['isUsedBy']): AliasRow => ({
  alias: name,
  chapter: '14',
  isUsedBy: ok(isUsedBy),
});

const sent = (name: string, isUsedBy: AliasRow['isUsedBy']): AliasRow => ({
  alias: name,
  chapter: '15',
  isUsedBy: ok(isUsedBy),
});

/** Every row of sections 14 and 15 that is not a path of `OPERATIONS`. */
export const ALIASES: readonly AliasRow[] = [
  alias('prefix /api', ({ path }) => path.startsWith('/api/v3/')),
  alias('one trailing slash', ({ path }) => /\/($|\?)/.test(path)),
  alias('query show for retention', inQuery(/(^|&)show=./)),
  alias('query retention', inQuery(/(^|&)retention=./)),
  alias('query received_at_from for received_at.gte', inQuery(/received_at_from=/)),
  alias('query received_at_to for received_at.lt', inQuery(/received_at_to=/)),
  alias('expand communication_info for communication', inQuery(/expand=[^&]*communication_info/)),
  alias('header X-Service-Auth-Token', ({ headers }) => 'x-service-auth-token' in headers),
  alias('header X-Enapter-Auth-Token', ({ headers }) => 'x-enapter-auth-token' in headers),
  alias('header Authorization: Bearer', ({ headers }) =>
    (headers['authorization'] ?? '').startsWith('Bearer '),
  ),
  alias('body device_name for name', inBody(/\/devices\/[^/]+$/, /"device_name":/)),
  alias(
    'multipart part data',
    ({ headers, path }) =>
      /upload|validate/.test(path) && (headers['content-type'] ?? '').startsWith('multipart/form-data'),
  ),
  alias(
    'raw zip body',
    ({ headers, path, method }) =>
      method === 'POST' &&
      path.endsWith('/upload') &&
      !(headers['content-type'] ?? '').startsWith('multipart'),
  ),

  sent(
    'py PATCH site: location null, timezone null, name null',
    ({ method, ...request }) =>
      method === 'PATCH' &&
      inBody(/\/sites?(\/[^/]+)?$/, /"location":null/, /"timezone":null/)({ method, ...request }),
  ),
  sent('py PATCH site: latitude null, longitude null', inBody(/\/sites?(\/[^/]+)?$/, /"latitude":null/)),
  sent(
    'py provisioning standalone: site_id null, slug null',
    inBody(/standalone$/, /"site_id":null/, /"slug":null/),
  ),
  sent('py provisioning vucm: site_id null', inBody(/vucm$/, /"site_id":null/)),
  sent('py provisioning lua: slug null', inBody(/lua_device$/, /"slug":null/)),
  sent('py PATCH device: name null', inBody(/\/devices\/[^/]+$/, /"name":null/)),
  sent('py PATCH device: slug null', inBody(/\/devices\/[^/]+$/, /"slug":null/)),
  sent('py expand empty', inQuery(/(^|&)expand=(&|$)/)),
  sent(
    'py time series: gap_filling none, attribute array',
    inBody(/query_timeseries$/, /"method":"none"/, /"attribute":\[/),
  ),
  sent(
    'py uploads: no Content-Type',
    ({ path, headers }) => path.endsWith('/upload') && !('content-type' in headers),
  ),
  sent('go provisioning standalone: site_id ""', inBody(/standalone$/, /"site_id":""/)),
  sent('go provisioning lua: slug ""', inBody(/lua_device$/, /"slug":""/)),
  sent('go empty Content-Type', ({ method, headers }) => method === 'POST' && headers['content-type'] === ''),
  sent(
    'go execute_command without arguments',
    ({ path, body }) => /execute_command/.test(path) && body !== undefined && !body.includes('arguments'),
  ),
  sent('go device list with site_id', inQuery(/(^|&)site_id=/)),
  sent('go-new PATCH device: name ""', inBody(/\/devices\/[^/]+$/, /"name":""/)),
  sent('vsc list sites ?name=undefined', inQuery(/(^|&)name=undefined/)),
  sent(
    'documentation: form Content-Type around JSON',
    ({ headers, body }) =>
      headers['content-type'] === 'application/x-www-form-urlencoded' && (body ?? '').startsWith('{'),
  ),
  sent(
    'grafana time series: no Content-Type',
    ({ path, headers }) => path.endsWith('/query_timeseries') && !('content-type' in headers),
  ),
];

/** Whether a path of the tables, with its parameters, is the path of a request. */
export function isPathOf(template: string, path: string): boolean {
  const plain = (path.split('?')[0] ?? '').replace(/^\/api(?=\/v3)/, '').replace(/(.)\/$/, '$1');
  const wanted = template.split('/');
  const given = plain.split('/');
  return (
    wanted.length === given.length &&
    wanted.every((part, index) => (part.startsWith('{') ? given[index] !== '' : part === given[index]))
  );
}
