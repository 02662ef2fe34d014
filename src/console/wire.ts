/** What the console reads of the API's answers, as they stand on the wire. */

export type Role = 'READONLY' | 'USER' | 'OWNER' | 'INSTALLER' | 'VENDOR' | 'SYSTEM';

export interface Described {
  display_name: string;
  description?: string;
}

export interface EnumItem {
  value: string | number;
  display_name: string;
  color?: string;
}

export interface Attribute extends Described {
  type: string;
  access_level?: string;
  unit?: string;
  auto_scale?: string[];
  enum?: (string | number)[];
  enum_with_metainfo?: EnumItem[];
}

export interface Alert extends Described {
  severity: 'info' | 'warning' | 'error';
  code?: string;
  components?: string[];
  conditions?: string[];
  troubleshooting?: string[];
}

export interface Argument extends Described {
  type: string;
  required?: boolean;
  enum?: (string | number)[];
  enum_with_metainfo?: EnumItem[];
  min?: number;
  max?: number;
  format?: string;
  sensitive?: boolean;
  default?: unknown;
}

export interface Command extends Described {
  group?: string;
  access_level?: string;
  arguments?: Record<string, Argument>;
  populate_values_command?: string;
  confirmation?: { severity: 'info' | 'warning'; title: string; description?: string };
}

export interface ConfigurationGroup extends Described {
  access_level?: string;
  parameters: Record<string, Argument>;
}

export interface Manifest extends Described {
  runtime?: { type: 'lua' | 'embedded' };
  properties: Record<string, Attribute>;
  telemetry: Record<string, Attribute>;
  alerts: Record<string, Alert>;
  commands: Record<string, Command>;
  command_groups?: Record<string, Described>;
  configuration: Record<string, ConfigurationGroup>;
  units?: Record<string, { symbol: string; display_name?: string }>;
}

export type Status = 'ONLINE' | 'OFFLINE';

export interface Device {
  id: string;
  blueprint_id: string;
  name: string;
  slug: string;
  type: string;
  implemented_profiles: string[];
  properties?: Record<string, unknown>;
  connectivity?: { status: Status };
  communication?: { type: string; upstream_id?: string; hardware_id?: string; channel_id?: string };
  raised_alert_names?: string[];
}

export type LatestValue = { value: unknown; timestamp: number } | { warning: string };

export interface LogEntry {
  received_at: string;
  severity: 'debug' | 'info' | 'warning' | 'error';
  message: string;
  persist: boolean;
}

/** Of the stream of everything; each has one of the optional members. */
export interface MonitorMessage {
  device_id: string;
  received_at: string;
  timestamp: number;
  telemetry?: Record<string, unknown>;
  properties?: Record<string, unknown>;
  connectivity?: { status: Status };
  log?: Omit<LogEntry, 'received_at'>;
}

export type ExecutionState = 'NEW' | 'IN_PROGRESS' | 'SUCCESS' | 'ERROR' | 'TIMEOUT' | 'UNSYNC';

export interface CommandResponse {
  state: 'STARTED' | 'IN_PROGRESS' | 'SUCCEEDED' | 'ERROR';
  payload: Record<string, unknown>;
  received_at: string;
}

export interface Execution {
  id: string;
  device_id: string;
  state: ExecutionState;
  created_at: string;
  request: { name: string; arguments: Record<string, unknown>; manifest_name: string };
  response?: CommandResponse;
  log?: CommandResponse[];
}

export interface ConnectionConfiguration {
  mqtt_host: string;
  mqtt_port: number;
  mqtt_protocol: 'MQTT' | 'MQTTS';
  mqtt_credentials:
    | { username: string; password: string }
    | { private_key: string; certificate: string; ca_chain: string };
  hardware_id: string;
  channel_id: string;
  [key: string]: unknown;
}

export interface Provisioned {
  device_id: string;
  slug: string;
  config?: ConnectionConfiguration;
}

export interface Engine {
  state: 'ACTIVE' | 'SUSPENDED';
  timezone: string;
}

export interface RuleScript {
  /** Base64 of UTF-8 text. */
  code: string;
  runtime_version: 'V1' | 'V3';
  exec_interval?: string;
}

export interface Rule {
  id: string;
  slug: string;
  disabled: boolean;
  state: 'STARTED' | 'STOPPED';
  script: RuleScript;
}

export interface DryRunEntry {
  timestamp: string;
  kind: 'log' | 'command' | 'storage' | 'http' | 'error' | 'restart';
  severity?: LogEntry['severity'];
  message?: string;
  device_id?: string;
  name?: string;
  arguments?: Record<string, unknown>;
  error?: string;
  store?: string;
  key?: string;
  value?: string;
  method?: string;
  url?: string;
  after?: string;
}

export interface DryRunReport {
  end: 'period_ended' | 'finished' | 'failed' | 'limit_reached';
  ended_at: string;
  entries: DryRunEntry[];
  truncated: boolean;
}

export interface Blueprint {
  id: string;
  created_at: string;
  display_name: string;
  source: 'BUILT_IN' | 'UPLOADED';
  /** Of a built-in one. */
  name?: string;
  has_script: boolean;
}

export interface Site {
  id: string;
  name: string;
  timezone: string;
  location?: { name: string; latitude?: number; longitude?: number };
}

export interface Me {
  kind: string;
  id: string;
  name: string;
  role: Role;
}

export interface AuditEntry {
  number: number;
  at: string;
  origin: { kind: string; id: string; name: string };
  operation: string;
  target: Record<string, string>;
  status: number;
  remote_address?: string;
}

export interface User {
  id: string;
  name: string;
  role: Role;
  has_password: boolean;
  created_at: string;
}

export interface AccessToken {
  id: string;
  kind: 'TOKEN' | 'SESSION';
  name: string;
  role: Role;
  user?: { id: string; name: string };
  created_at: string;
  expires_at?: string;
  expired: boolean;
  last_used_at?: string;
}

const ORDER: readonly string[] = ['READONLY', 'USER', 'OWNER', 'INSTALLER', 'VENDOR', 'SYSTEM'];

/** Whether the role reaches an access level of a manifest, or another role, in any case of letters. */
export function reaches(role: string | undefined, needed: string | undefined): boolean {
  if (needed === undefined) return true;
  const wanted = ORDER.indexOf(needed.toUpperCase());
  return wanted >= 0 && ORDER.indexOf(role ?? '') >= wanted;
}
