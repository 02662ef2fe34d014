/** Which alerts the physics raises; with hysteresis, so that none flickers at its threshold. */
import type { PlantReading } from './plant.ts';

export type AlertName = 'grid_lost' | 'battery_low' | 'battery_overheated';

const HYSTERESIS_PERCENT = 2;

export interface AlertChange {
  name: AlertName;
  raised: boolean;
}

/** @returns judges a reading: the whole raised set, and what changed since the last one */
export function createAlertWatch(): (
  reading: PlantReading,
  reservePercent: number,
) => { raised: AlertName[]; changes: AlertChange[] } {
  const raised = new Set<AlertName>();
  return (reading, reservePercent) => {
    const changes: AlertChange[] = [];
    const set = (name: AlertName, holds: boolean): void => {
      if (holds === raised.has(name)) return;
      if (holds) raised.add(name);
      else raised.delete(name);
      changes.push({ name, raised: holds });
    };
    // The inverter charges up to half a percent below the reserve: clear there, raise well below.
    const lowBelow = reservePercent - (raised.has('battery_low') ? 0.6 : HYSTERESIS_PERCENT);
    set('grid_lost', reading.happening.grid);
    set('battery_low', reading.socPercent < lowBelow);
    set('battery_overheated', reading.state.battery.overheated);
    return { raised: [...raised], changes };
  };
}
