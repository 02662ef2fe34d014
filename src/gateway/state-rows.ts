/** Rules of all capabilities for readable rows of state.db. */
import { alertRows } from '../capabilities/alerts/index.ts';
import { auditRows } from '../capabilities/audit/index.ts';
import { authRows } from '../capabilities/auth/index.ts';
import { backupRows } from '../capabilities/backups/index.ts';
import { blueprintRows } from '../capabilities/blueprints/index.ts';
import { commandRows } from '../capabilities/commands/index.ts';
import { configurationRows } from '../capabilities/device-configuration/index.ts';
import { deviceRows } from '../capabilities/devices/index.ts';
import { energyRows } from '../capabilities/energy/index.ts';
import { modulePortRows } from '../capabilities/module-ports/index.ts';
import { moduleRows } from '../capabilities/modules/index.ts';
import { notificationRows } from '../capabilities/notifications/index.ts';
import { provisioningRows } from '../capabilities/provisioning/index.ts';
import { ruleRows } from '../capabilities/rules/index.ts';
import { siteRows } from '../capabilities/site/index.ts';
import { targetRows } from '../capabilities/targets/index.ts';
import type { RowRules } from '../platform/sqlite/index.ts';

/** Of all tables, those that others refer to first. */
export const STATE_ROWS: readonly RowRules[] = [
  ...siteRows,
  ...authRows,
  ...auditRows,
  ...blueprintRows,
  ...deviceRows,
  ...provisioningRows,
  ...configurationRows,
  ...commandRows,
  ...moduleRows,
  ...ruleRows,
  ...modulePortRows,
  ...energyRows,
  ...alertRows,
  ...backupRows,
  ...notificationRows,
  ...targetRows,
];
