/** Shapes of the API's answers that the console reads, under short names. */
import type { CompiledManifest } from '../capabilities/blueprints/manifest.ts';
import type { LogEntryOnWire } from '../capabilities/device-logs/schema.ts';
import type { DeviceOnWire } from '../capabilities/devices/schema.ts';
import type { DryRunOnWire as DryRunReport } from '../capabilities/rules/dry-run-schema.ts';
import type { RuleOnWire as Rule, RuleVersionOnWire as RuleVersion } from '../capabilities/rules/schema.ts';
import type {
  StrategyEntryOnWire as StrategyEntry,
  StrategyOnWire as Strategy,
  StrategyParameterOnWire as StrategyParameter,
} from '../capabilities/strategies/schema.ts';

export type { DryRunReport, Rule, RuleVersion, Strategy, StrategyEntry, StrategyParameter };
export type {
  ClaimOnWire as Claim,
  MeOnWire as Me,
  UserOnWire as User,
  AccessTokenOnWire as AccessToken,
} from '../capabilities/auth/schema.ts';
export type { AuditEntryOnWire as AuditEntry } from '../capabilities/audit/schema.ts';
export type {
  CompiledArgument as Argument,
  CompiledAttribute as Attribute,
  CompiledCommand as Command,
  CompiledConfigurationGroup as ConfigurationGroup,
  CompiledManifest as Manifest,
  EnumItem,
} from '../capabilities/blueprints/manifest.ts';
export type { AttentionOnWire as SiteAttention } from '../capabilities/appliance/schema.ts';
export type { AlertMessage, AlertOnWire as Alert } from '../capabilities/alerts/schema.ts';
export type { ListedBlueprintOnWire as Blueprint } from '../capabilities/blueprints/schema.ts';
export type { SearchLine } from '../capabilities/device-search/schema.ts';
export type {
  LibraryDeviceOnWire as LibraryDevice,
  LibraryEntryOnWire as LibraryEntry,
  LibraryUpdateOnWire as LibraryUpdate,
} from '../capabilities/library/schema.ts';
export type { ExecutionOnWire as Execution } from '../capabilities/commands/schema.ts';
export type {
  NotificationChannelOnWire as Channel,
  NotificationDeliveryOnWire as Delivery,
} from '../capabilities/notifications/schema.ts';
export type { BackupPlanOnWire as BackupPlan } from '../capabilities/backups/schema.ts';
export type {
  ScanLine,
  TestOutcome as ConnectionTest,
  ReadOnWire as RegistersRead,
  TraceOnWire as FieldTrace,
} from '../capabilities/modules/schema.ts';
export type { HttpReadOnWire as HttpRead } from '../capabilities/device-search/schema.ts';
export type { AnnouncedDeviceOnWire as AnnouncedDevice } from '../capabilities/announcements/schema.ts';
export type { MadeGuestOnWire as MadeMqttGuest } from '../capabilities/mqtt-guests/schema.ts';
export type { MonitorMessage } from '../capabilities/monitor/schema.ts';
export type {
  ConnectionConfigurationOnWire as ConnectionConfiguration,
  ProvisionedOnWire as Provisioned,
} from '../capabilities/provisioning/schema.ts';
export type { EngineOnWire as Engine } from '../capabilities/rules/schema.ts';
export type {
  RuleRunOnWire as RuleRun,
  RuleRunStepOnWire as RuleRunStep,
} from '../capabilities/rules/run-schema.ts';
export type {
  IoPortOnWire as IoPort,
  SerialPortOnWire as SerialPort,
} from '../capabilities/module-ports/schema.ts';
export type {
  OutputChangeOnWire as OutputChange,
  OutputOnWire as Output,
} from '../capabilities/outputs/schema.ts';
export type { SiteOnWire as Site } from '../capabilities/site/schema.ts';
export type { TargetOnWire as Target } from '../capabilities/targets/schema.ts';
export type { UpdateOnWire as Update } from '../capabilities/updates/schema.ts';
export type { Problem } from '../lib/errors.ts';
export type { LatestOnWire as LatestValue } from '../capabilities/telemetry/schema.ts';

/** Answer of /healthz. */
export interface Health {
  status: string;
  version: string;
  https_port?: number;
}
/** Its manifest is asked for apart. */
export type { DocumentOnWire as DeviceDocument } from '../capabilities/documents/schema.ts';
export type Device = Omit<DeviceOnWire, 'manifest'>;
export type DeviceWithManifest = Device & { manifest: CompiledManifest };
/** An entry of a device that is known from the context. */
export type LogEntry = Omit<LogEntryOnWire, 'device_id' | 'timestamp'>;
export type RuleScript = Rule['script'];
export type DryRunEntry = DryRunReport['entries'][number];
