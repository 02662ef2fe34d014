import { listed, route, type Route, shape } from '../../platform/http/index.ts';
import { acceptBody, listProposalsQuery, proposalShapes, proposalToWire } from './schema.ts';
import type { Announcements } from './service.ts';

const PROPOSALS = '/v3/announced_devices';
const PROPOSAL = `${PROPOSALS}/{announced_device_id}` as const;

/** Devices that announced themselves: an extension of the interface (docs/interface/http.md#announced-devices). */
export function announcementRoutes({ announcements }: { announcements: Announcements }): Route[] {
  return [
    route({
      operation: 'list_announced_devices',
      about: 'Devices that announced themselves over MQTT in the format of Home Assistant, by name.',
      answer: proposalShapes.list,
      GET: [PROPOSALS],
      role: 'OWNER',
      query: listProposalsQuery,
      handle: ({ query }) => {
        const fitting = announcements.list().filter(({ state }) => state === (query.state ?? state));
        return listed('announced_devices', fitting, proposalToWire, query);
      },
    }),
    route({
      operation: 'get_announced_device',
      about: 'One device that announced itself, and what it would become.',
      answer: proposalShapes.one,
      GET: [PROPOSAL],
      role: 'OWNER',
      errors: ['404 announced_device_not_found'],
      handle: (call) => ({
        announced_device: proposalToWire(announcements.require(call.param('announced_device_id'))),
      }),
    }),
    route({
      operation: 'accept_announced_device',
      about: 'Makes a device of it, with a blueprint made of its announcements.',
      answer: proposalShapes.accepted,
      POST: [`${PROPOSAL}/accept`],
      role: 'OWNER',
      body: acceptBody,
      errors: [
        '404 announced_device_not_found',
        '409 already_accepted',
        '409 already_exists',
        '422 device_limit_reached',
        '422 nothing_announced',
      ],
      handle: async (call) => {
        const device = await announcements.accept(call.param('announced_device_id'), call.body);
        call.note({ device_id: device.id });
        return { device_id: device.id, slug: device.slug };
      },
    }),
    route({
      operation: 'ignore_announced_device',
      about: 'Sets it aside; it can be accepted later.',
      answer: shape.nothing(),
      POST: [`${PROPOSAL}/ignore`],
      role: 'OWNER',
      errors: ['404 announced_device_not_found', '409 already_accepted'],
      handle: (call) => announcements.ignore(call.param('announced_device_id')),
    }),
  ];
}
