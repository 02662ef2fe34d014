/** Announced devices on the wire. Source: docs/interface/http.md#announced-devices. */
import * as v from 'valibot';
import { query, shape } from '../../platform/http/index.ts';
import { deviceName } from '../devices/index.ts';
import { type Proposal, PROPOSAL_STATES } from './model.ts';

export const acceptBody = v.pipe(
  v.object({
    name: v.pipe(v.optional(deviceName), v.description('Absent: as it announced.')),
    slug: shape.unlessEmpty(shape.slug()),
  }),
  shape.example({ name: 'Plug in the hall' }),
);

export const listProposalsQuery = v.object({
  ...query.page(),
  state: query.optionalChoice(PROPOSAL_STATES, { description: 'Only those in this state.' }),
});

const attributeShape = v.object({
  name: v.string(),
  display_name: v.string(),
  type: v.picklist(['float', 'boolean', 'string']),
  unit: v.optional(v.string()),
});

const proposalShape = shape.named(
  'AnnouncedDevice',
  v.object({
    id: v.string(),
    mqtt_guest_id: v.string(),
    name: v.string(),
    manufacturer: v.optional(v.string()),
    model: v.optional(v.string()),
    software_version: v.optional(v.string()),
    state: v.picklist(PROPOSAL_STATES),
    device_id: v.optional(shape.about(v.string(), 'The device that was made of it.')),
    attributes: v.array(attributeShape),
    commands: v.array(v.object({ name: v.string(), display_name: v.string() })),
    left_out: shape.about(
      v.array(v.string()),
      'Sentences about what it announces and the gateway cannot use.',
    ),
  }),
  {
    id: '0f5b1c2d3e4f5a6b7c8d9e0f1a2b3c4d',
    mqtt_guest_id: '7d0f2d1e-3c57-4a0b-8a6b-1f0d6f2f5c10',
    name: 'Plug in the hall',
    manufacturer: 'Example',
    model: 'Plug S',
    state: 'NEW',
    attributes: [{ name: 'power', display_name: 'Power', type: 'float', unit: 'W' }],
    commands: [{ name: 'set_relay', display_name: 'Switch Relay' }],
    left_out: [],
  },
);

/** An announced device as it is answered. */
export type AnnouncedDeviceOnWire = v.InferOutput<typeof proposalShape>;

export const proposalShapes = {
  one: v.object({ announced_device: proposalShape }),
  list: shape.listOf('announced_devices', proposalShape),
  accepted: v.object({ device_id: shape.id(), slug: v.string() }),
};

export function proposalToWire(proposal: Proposal): AnnouncedDeviceOnWire {
  const { manufacturer, model, softwareVersion, deviceId } = proposal;
  return {
    id: proposal.id,
    mqtt_guest_id: proposal.guestId,
    name: proposal.name,
    ...(manufacturer !== undefined && { manufacturer }),
    ...(model !== undefined && { model }),
    ...(softwareVersion !== undefined && { software_version: softwareVersion }),
    state: proposal.state,
    ...(deviceId !== undefined && { device_id: deviceId }),
    attributes: proposal.attributes.map(({ name, displayName, type, unit }) => ({
      name,
      display_name: displayName,
      type,
      ...(unit !== undefined && { unit }),
    })),
    commands: proposal.commands.map(({ name, displayName }) => ({ name, display_name: displayName })),
    left_out: [...proposal.leftOut],
  };
}
