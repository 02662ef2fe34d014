/** Sets the tariffs of the site as a site file has them: all of them, in place of those before. */
import { findDevice } from './plan-devices.ts';
import type { Api } from './api.ts';
import type { WantedTariffs } from './schema.ts';
import { type Members, requestStep, type Step } from './step.ts';

const PATH = '/v3/site/energy/tariffs';

interface Present {
  energy_tariffs: { currency: string | null; items: Members[] };
}

export async function tariffSteps(wanted: WantedTariffs, api: Api): Promise<Step[]> {
  const { energy_tariffs: present } = await api.get<Present>(PATH);
  const { currency, items } = wanted;
  const given = items && (await Promise.all(items.map((tariff) => withIds(tariff, api))));
  const names = [
    ...(currency === undefined || currency === null || currency === present.currency
      ? []
      : [`currency ${currency}`]),
    ...(given && JSON.stringify(sorted(given)) !== JSON.stringify(sorted(present.items))
      ? [`${given.length} instead of ${present.items.length}`]
      : []),
  ];
  return names.length === 0 ? [] : [requestStep(api, `tariffs: ${names.join(', ')}`, 'PATCH', PATH, wanted)];
}

type Tariff = NonNullable<WantedTariffs['items']>[number];

/** Devices by id, as the gateway answers them; one that the file makes first has none yet. */
async function withIds(tariff: Tariff, api: Api): Promise<Members> {
  const named = async (price: Tariff['export_price']): Promise<Members | null> => {
    if (price === null) return null;
    const device = price.device_id === null ? undefined : await findDevice(api, price.device_id);
    return { ...price, device_id: device?.id ?? price.device_id };
  };
  return {
    ...tariff,
    import_price: await named(tariff.import_price),
    export_price: await named(tariff.export_price),
  };
}

/** By their first day, with their members in one order. */
function sorted(items: readonly Members[]): unknown[] {
  const ordered = (value: unknown): unknown =>
    typeof value === 'object' && value !== null
      ? Object.entries(value)
          .map(([name, member]) => [name, ordered(member)])
          .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1))
      : value;
  return items.toSorted((a, b) => (String(a['valid_from']) < String(b['valid_from']) ? -1 : 1)).map(ordered);
}
