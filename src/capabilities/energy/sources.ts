/** The attributes that count as energy of the site: by profiles, and as people chose. */
import { errorOfProblems, type Problem } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { DurationS } from '../../lib/time.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import type { Telemetry } from '../telemetry/index.ts';
import type { EnergySettings, EnergySource, SourceChoice } from './model.ts';
import {
  type DerivedSources,
  maxPowerOfNameplateW,
  NAMEPLATE,
  sourcesOfProfiles,
  unitFactor,
} from './profiles.ts';
import { createEnergyStore, type EnergyStore } from './store.ts';

export interface SourcesChange {
  gapAfterS?: DurationS | undefined;
  powerMaxW?: number | undefined;
  /** All choices of people; roles in none of them follow the profiles. */
  items?: readonly SourceChoice[] | undefined;
}

interface EnergySourcesOptions {
  database: Database;
  devices: Devices;
  telemetry: Pick<Telemetry, 'latest'>;
}

export class EnergySources {
  readonly #database: Database;
  readonly #devices: Devices;
  readonly #telemetry: Pick<Telemetry, 'latest'>;
  readonly #store: EnergyStore;
  #revision = 0;

  constructor({ database, devices, telemetry }: EnergySourcesOptions) {
    this.#database = database;
    this.#devices = devices;
    this.#telemetry = telemetry;
    this.#store = createEnergyStore(database);
  }

  /** Another number after each change by a person. */
  get revision(): number {
    return this.#revision;
  }

  settings(): EnergySettings {
    const { gapAfterDefaultS: gapAfterS, powerMaxDefaultW: powerMaxW } = LIMITS.energy;
    return this.#store.settings() ?? { gapAfterS, powerMaxW };
  }

  /** All sources that count. */
  all(): EnergySource[] {
    return this.judged().counted;
  }

  /** All sources, and what devices say of a role beside them. For a role that people chose sources for, profiles do not count. */
  judged(): DerivedSources {
    const chosen = this.#store.choices();
    const roles = new Set(chosen.map(({ role }) => role));
    const devices = [...this.#devices.all()].sort((one, other) => one.createdAtMs - other.createdAtMs);
    const { counted, others } = sourcesOfProfiles(
      devices.map((device) => ({ id: device.id, manifest: this.#devices.manifest(device) })),
      (deviceId, attribute) => this.#hasSent(deviceId, attribute),
    );
    return {
      counted: [
        ...chosen.map((choice) => ({ ...choice, profile: null })),
        ...counted.filter(({ role }) => !roles.has(role)),
      ],
      others: others.filter(({ source: { role } }) => !roles.has(role)),
    };
  }

  #hasSent(deviceId: string, attribute: string): boolean {
    const device = this.#devices.get(deviceId);
    return device !== undefined && typeof this.#telemetry.latest(device, attribute)?.value === 'number';
  }

  /** W: larger powers of the source are left out. */
  powerMaxW(source: EnergySource): number {
    const device = this.#devices.get(source.deviceId);
    const nameplate = device && this.#devices.properties(device, 'READONLY')[NAMEPLATE];
    const own = source.powerMaxW ?? maxPowerOfNameplateW(source.role, nameplate) ?? Number.POSITIVE_INFINITY;
    return Math.min(own, this.settings().powerMaxW);
  }

  /** @throws GatewayError device_not_found, invalid_body naming every attribute that does not fit */
  change({ gapAfterS, powerMaxW, items }: SourcesChange): void {
    const choices = items?.map((item) => ({ ...item, deviceId: this.#devices.require(item.deviceId).id }));
    const problems = (choices ?? []).flatMap((choice, index) =>
      this.#problemsOf(choice, `items.${index}`).map(([field, message]): Problem => ({
        code: 'invalid_body',
        message,
        details: { field },
      })),
    );
    const refused = errorOfProblems('invalid_argument', problems);
    if (refused) throw refused;
    this.#revision++;
    this.#database.transaction(() => {
      if (choices) this.#store.replaceChoices(choices);
      const before = this.settings();
      if (gapAfterS !== undefined || powerMaxW !== undefined)
        this.#store.putSettings({
          gapAfterS: gapAfterS ?? before.gapAfterS,
          powerMaxW: powerMaxW ?? before.powerMaxW,
        });
    });
  }

  #problemsOf(choice: SourceChoice, place: string): [field: string, message: string][] {
    const device = this.#devices.require(choice.deviceId);
    const wanted = [
      ['power', choice.power, 'W'],
      ['energy_forward', choice.energyForward, 'Wh'],
      ['energy_reverse', choice.energyReverse, 'Wh'],
      ['state_of_charge', choice.stateOfCharge, '%'],
    ] as const;
    const problems = wanted.flatMap(([name, attribute, unit]): [string, string][] => {
      if (attribute === null) return [];
      const problem = this.#problemOf(device, attribute, unit);
      return problem === undefined
        ? []
        : [[`${place}.${name}`, `Field "${place}.${name}": attribute "${attribute}" ${problem}.`]];
    });
    if (choice.power === null && choice.energyForward === null)
      problems.push([
        `${place}.power`,
        `Field "${place}.power" must name an attribute unless "energy_forward" does.`,
      ]);
    return problems;
  }

  #problemOf(device: Device, attribute: string, unit: 'W' | 'Wh' | '%'): string | undefined {
    const manifest = this.#devices.manifest(device);
    const declared = Object.hasOwn(manifest.telemetry, attribute) ? manifest.telemetry[attribute] : undefined;
    if (!declared) return `is not declared by device "${device.slug}"`;
    if (declared.type !== 'float' && declared.type !== 'integer')
      return `is of type ${declared.type}, it must be a number`;
    if (unit === '%') return undefined;
    return unitFactor(manifest, attribute, unit) === undefined
      ? `is in ${declared.unit}, it must be in ${unit}, k${unit} or M${unit}`
      : undefined;
  }
}
