import { route, type Route } from '../../platform/http/index.ts';
import { sitePaths } from '../site/index.ts';
import { forecastShape, forecastToWire } from './forecast-schema.ts';
import * as wire from './schema.ts';
import type { Energy } from './service.ts';
import { updateTariffsBody } from './tariff-request.ts';

/** HTTP operations of the energy of the site. */
export function energyRoutes(energy: Energy): Route[] {
  const sources = () => ({
    energy_sources: wire.sourcesToWire(energy.sources.judged(), energy.sources.settings()),
  });
  return [
    route({
      operation: 'get_energy_now',
      about: 'Present power by role and device, state of charge, and flows from sources to uses.',
      answer: wire.energyShapes.now,
      GET: sitePaths('/energy/now'),
      role: 'READONLY',
      errors: ['404 site_not_found'],
      handle: () => ({ power: wire.nowToWire(energy.now()) }),
    }),
    route({
      operation: 'get_energy',
      about:
        'Energy by source and use, and its money, for whole hours, days, months or years in the time zone of the site. Default of `from`: today; ' +
        'of `to`: now.',
      answer: wire.energyShapes.balances,
      GET: sitePaths('/energy'),
      role: 'READONLY',
      query: wire.energyQuery,
      errors: ['404 site_not_found', '422 query_too_large', '503 unavailable'],
      handle: async ({ query: { from, to, granularity }, signal }) => {
        const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? ms : ms / 1_000);
        const answer = await energy.balances({ fromS: seconds(from), toS: seconds(to), granularity }, signal);
        return { energy: wire.energyToWire(answer) };
      },
    }),
    route({
      operation: 'get_energy_forecast',
      about:
        'Sun, consumption and price that are expected of today and tomorrow by hour, what really came, and what rules plan.',
      answer: forecastShape,
      GET: sitePaths('/energy/forecast'),
      role: 'READONLY',
      errors: ['404 site_not_found', '503 unavailable'],
      handle: async ({ signal }) => ({ energy_forecast: forecastToWire(await energy.forecast(signal)) }),
    }),
    route({
      operation: 'get_energy_sources',
      about: 'The devices and attributes that count as energy of the site.',
      answer: wire.energyShapes.sources,
      GET: sitePaths('/energy/sources'),
      role: 'READONLY',
      errors: ['404 site_not_found'],
      handle: sources,
    }),
    route({
      operation: 'update_energy_sources',
      about: 'Sets the role of devices and attributes where profiles do not, or instead of them.',
      answer: wire.energyShapes.sources,
      PATCH: sitePaths('/energy/sources'),
      role: 'OWNER',
      body: wire.updateSourcesBody,
      errors: ['400 invalid_body', '404 device_not_found', '404 site_not_found'],
      handle: ({ body }) => {
        energy.sources.change(body);
        return sources();
      },
    }),
    ...tariffRoutes(energy),
  ];
}

function tariffRoutes({ tariffs }: Energy): Route[] {
  const answer = () => ({ energy_tariffs: wire.tariffsToWire(tariffs.book()) });
  return [
    route({
      operation: 'get_energy_tariffs',
      about: 'What energy costs and brings, from which day on.',
      answer: wire.energyShapes.tariffs,
      GET: sitePaths('/energy/tariffs'),
      role: 'READONLY',
      errors: ['404 site_not_found'],
      handle: answer,
    }),
    route({
      operation: 'update_energy_tariffs',
      about:
        'Sets prices, standing charges, VAT and currency; earlier tariffs stay for the time that they held.',
      answer: wire.energyShapes.tariffs,
      PATCH: sitePaths('/energy/tariffs'),
      role: 'OWNER',
      body: updateTariffsBody,
      errors: ['400 invalid_body', '404 device_not_found', '404 site_not_found'],
      handle: ({ body }) => {
        tariffs.change(body);
        return answer();
      },
    }),
  ];
}
